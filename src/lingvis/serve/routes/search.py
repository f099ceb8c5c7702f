"""Routes that find pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request

from lingvis.collection.stores.contract import Hit
from lingvis.serve.answers import ErrorAnswer, SearchAnswer, SimilarAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.limits.uploads import check_picture, read_form
from lingvis.serve.questions import Filters, PictureQuestion, Question
from lingvis.serve.routes.items import Id
from lingvis.serve.server import Here, Server

T = TypeVar("T")
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        401: "The token is missing or wrong.",
        422: "A parameter is not allowed.",
        429: "Too many ask at once; Retry-After says when to ask again.",
        503: "The collection is not ready, or the search took too long.",
    }.items()
}
UPLOADS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The form is damaged."},
    408: {"model": ErrorAnswer, "description": "The picture was sent too slowly."},
    413: {"model": ErrorAnswer, "description": "The picture has too many bytes or pixels."},
    415: {"model": ErrorAnswer, "description": "The file is no picture."},
}
_fields = PictureQuestion.model_json_schema()
FORM = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["image"],
                "properties": {"image": {"type": "string", "format": "binary"}, **_fields["properties"]},
            }
        }
    },
}
router = APIRouter(prefix="/api", tags=["search"], dependencies=[Depends(allowed)], responses=REFUSALS)


@router.get("/search", summary="Find pictures by words", response_model=SearchAnswer)
async def by_words(server: Here, question: Annotated[Question, Query()]) -> dict[str, Any]:
    """Pictures that fit best to a sentence, or to all of several, in any language of the model."""
    took, (queries, hits) = await server.searches.run(
        lambda: _timed(server, lambda: server.engine.search(question))
    )
    return {"queries": queries, **_page(question, took, hits)}


@router.post(
    "/search",
    summary="Find pictures by a picture",
    response_model=SearchAnswer,
    responses=UPLOADS,
    openapi_extra={"requestBody": FORM},
)
async def by_picture(server: Here, request: Request) -> dict[str, Any]:
    """Pictures like the one that is sent; with words, those that fit to both."""
    server.searches.check()
    settings = server.settings
    with server.uploads.held():  # of its own: slow senders must not keep others from asking in words
        question, image = await read_form(
            request, limit=settings.upload_bytes, seconds=settings.upload_seconds
        )

        def ask() -> Any:
            check_picture(image.file, pixels=settings.pixels)
            return server.engine.search(question, image.file)

        try:
            took, (queries, hits) = await server.searches.run(lambda: _timed(server, ask))
        finally:
            await image.close()
    return {"queries": queries, **_page(question, took, hits)}


@router.get(
    "/items/{id}/similar", summary="Find pictures like one of the collection", response_model=SimilarAnswer
)
async def similar(server: Here, id: Id, filters: Annotated[Filters, Query()]) -> dict[str, Any]:
    """Pictures like one of the collection, without that one."""
    took, hits = await server.searches.run(lambda: _timed(server, lambda: server.engine.similar(id, filters)))
    return _page(filters, took, hits)


def _timed(server: Server, function: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = function()
    took = time.perf_counter() - start
    server.metrics.search.observe(took)
    return took, result


def _page(filters: Filters, took: float, hits: list[Hit]) -> dict[str, Any]:
    return {
        "k": filters.k,
        "offset": filters.offset,
        "took_ms": round(took * 1000, 2),
        "hits": [hit.to_json() for hit in hits],
    }
