"""The route that lists the collections of a server."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from lingvis.serve.limits.access import allowed
from lingvis.serve.server import ServerOfRequest
from lingvis.serve.several.names import path_of

router = APIRouter(tags=["server"], dependencies=[Depends(allowed)])


class CollectionName(BaseModel):
    """A collection of this server; path: of its page, and the start of its routes, as in /c/photos/api/search."""

    name: str
    path: str = Field(examples=["/c/photos/"])
    pictures: int


class CollectionsAnswer(BaseModel):
    """All collections of this server; the routes without a collection in their path are those of the first."""

    collections: list[CollectionName]
    current: str


@router.get("/api/collections", summary="The collections of this server")
async def collections(server: ServerOfRequest) -> CollectionsAnswer:
    """Names, paths and sizes; current: the collection of this path."""
    listed, current = [], ""
    for name, one in server.collections.items():
        numbers = await server.reads.run(one.engine.statistics)
        listed.append(CollectionName(name=name, path=path_of(name), pictures=numbers.pictures))
        current = name if one.engine is server.engine else current
    return CollectionsAnswer(collections=listed, current=current)
