"""Routes of albums: read them, and change them unless the server is read-only."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.exceptions import HTTPException
from starlette.requests import Request

from lingvis.collection.albums import Album
from lingvis.serve.answers import ErrorAnswer, ItemAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.routes.bodies import Body, body_of, read_json_body
from lingvis.serve.routes.items import Id
from lingvis.serve.server import Server, ServerOfRequest
from lingvis.serve.settings import OFFSET, RESULTS, SELECTED

Name = Annotated[str, StringConstraints(max_length=400)]
AlbumName = Annotated[Name, Query(description="The name of an album, for instance favourites.")]
Ids = Annotated[list[Annotated[str, StringConstraints(max_length=64)]], Field(max_length=SELECTED)]
READ_ONLY = "this server is read-only; albums can be changed on the command line: lingvis albums"
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        401: "The token is missing or wrong.",
        403: "The server is read-only, or the request comes from a page of another site.",
        404: "There is no such picture.",
        422: "A value is not allowed, or there is no such album.",
    }.items()
}
router = APIRouter(prefix="/api", tags=["albums"], dependencies=[Depends(allowed)], responses=REFUSALS)


class AlbumAnswer(BaseModel):
    """An album; pictures: the number of contents in it."""

    name: str
    pictures: int


class AlbumsAnswer(BaseModel):
    """All albums, the favourites first; writable: whether this server changes them."""

    albums: list[AlbumAnswer]
    writable: bool

    @classmethod
    def of(cls, albums: list[Album], *, writable: bool) -> Self:
        """Return the albums of a collection."""
        return cls(albums=[AlbumAnswer(name=a.name, pictures=a.pictures) for a in albums], writable=writable)


class HashesAnswer(BaseModel):
    """The hashes of the files in an album, in the order of adding: SHA-256, as in the field hash of a picture."""

    album: str
    hashes: list[str]


class AlbumPageAnswer(BaseModel):
    """A page of the pictures in an album, the last added first."""

    k: int
    offset: int
    items: list[ItemAnswer]


class NamesAnswer(BaseModel):
    """The names of the albums with a picture."""

    albums: list[str]


class AlbumChange(BaseModel):
    """Pictures to add to an album, which is made if necessary, and pictures to remove from it."""

    model_config = ConfigDict(extra="forbid")
    album: Name
    add: Ids = []
    remove: Ids = []


class ChangeAnswer(BaseModel):
    """How many pictures are new in the album, and how many are no longer in it."""

    album: str
    added: int
    removed: int


class AlbumRename(BaseModel):
    """An album and its new name."""

    model_config = ConfigDict(extra="forbid")
    album: Name
    name: Name


@router.get("/albums", summary="The albums")
async def albums(server: ServerOfRequest) -> AlbumsAnswer:
    """All albums of the collection; favourites are the album with this name."""
    return await _all(server)


@router.get("/albums/hashes", summary="The hashes of the files in an album")
async def hashes(server: ServerOfRequest, album: AlbumName) -> HashesAnswer:
    """For marking pictures that are in an album."""
    stored = await server.reads.run(server.engine.albums, lambda albums: albums.hashes(album))
    return HashesAnswer(album=album, hashes=stored)


@router.get("/albums/pictures", summary="The pictures in an album")
async def pictures(
    server: ServerOfRequest,
    album: AlbumName,
    k: Annotated[int, Query(ge=1, le=RESULTS)] = 10,
    offset: Annotated[int, Query(ge=0, le=OFFSET)] = 0,
) -> AlbumPageAnswer:
    """The pictures that were added last come first; a search with album=NAME orders them by a query."""
    infos = await server.reads.run(server.engine.albums, lambda albums: albums.pictures(album))
    page = infos[offset : offset + k]
    return AlbumPageAnswer(k=k, offset=offset, items=[ItemAnswer.of(info) for info in page])


@router.get("/items/{id}/albums", summary="The albums of a picture")
async def albums_of(server: ServerOfRequest, id: Id) -> NamesAnswer:
    """The names of the albums with a picture."""
    await server.reads.run(server.engine.info, id)
    names = await server.reads.run(server.engine.albums, lambda albums: albums.of(id))
    return NamesAnswer(albums=names)


@router.post(
    "/albums", summary="Add pictures to an album, or remove some", openapi_extra=body_of(AlbumChange)
)
async def change(server: ServerOfRequest, request: Request) -> ChangeAnswer:
    """The files stay where they are. Repeating a change does nothing."""
    body = await _change(server, request, AlbumChange)
    for ids in (body.add, body.remove):
        await server.reads.run(server.engine.infos, ids)
    added = removed = 0
    if body.add or not body.remove:
        added = await server.writes.run(server.engine.albums, lambda albums: albums.add(body.album, body.add))
    if body.remove:
        removed = await server.writes.run(
            server.engine.albums, lambda albums: albums.remove(body.album, body.remove)
        )
    return ChangeAnswer(album=body.album, added=added, removed=removed)


@router.patch("/albums", summary="Rename an album", openapi_extra=body_of(AlbumRename))
async def rename(server: ServerOfRequest, request: Request) -> AlbumsAnswer:
    """The favourites keep their name."""
    body = await _change(server, request, AlbumRename)
    await server.writes.run(server.engine.albums, lambda albums: albums.rename(body.album, body.name))
    return await _all(server)


@router.delete("/albums", summary="Delete an album")
async def delete(server: ServerOfRequest, album: AlbumName) -> AlbumsAnswer:
    """The pictures stay."""
    _check_writable(server)
    await server.writes.run(server.engine.albums, lambda albums: albums.delete(album))
    return await _all(server)


async def _all(server: Server) -> AlbumsAnswer:
    listed = await server.reads.run(server.engine.albums, lambda albums: albums.all())
    return AlbumsAnswer.of(listed, writable=server.settings.writable)


async def _change(server: Server, request: Request, model: type[Body]) -> Body:
    _check_writable(server)
    with server.bodies.held(request):
        return await read_json_body(request, model)


def _check_writable(server: Server) -> None:
    if not server.settings.writable:
        raise HTTPException(403, READ_ONLY)
