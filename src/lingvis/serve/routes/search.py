"""Routes that find pictures."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from lingvis.collection.stores.records import Hit
from lingvis.features.pictures import DecodedPicture
from lingvis.serve.answers import ErrorAnswer, HitAnswer, SearchAnswer, SimilarAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.limits.uploads import decode_upload, read_form
from lingvis.serve.preferences import accepted_languages
from lingvis.serve.queries import Filters, SearchQuery
from lingvis.serve.routes.items import Id
from lingvis.serve.routes.quick import QuickRoute, json_response, quickly, read_query
from lingvis.serve.server import ServerOfRequest, server_of

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        401: "The token is missing or wrong.",
        422: "A parameter is not allowed.",
        429: "Too many requests at once; try again after Retry-After.",
        503: "The collection is not ready, or the search took too long.",
    }.items()
}
UPLOADS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The form is damaged."},
    408: {"model": ErrorAnswer, "description": "The picture was sent too slowly."},
    413: {
        "model": ErrorAnswer,
        "description": "The picture is too large, or too costly to decode.",
    },
    415: {"model": ErrorAnswer, "description": "The file is not a picture."},
}
_fields = SearchQuery.model_json_schema()
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
router = APIRouter(
    prefix="/api",
    tags=["search"],
    route_class=QuickRoute,
    dependencies=[Depends(allowed)],
    responses=REFUSALS,
)


async def _quick_search(request: Request) -> Response | None:
    query = read_query(request, SearchQuery)
    return json_response(await by_words(server_of(request), request, query)) if query is not None else None


@router.get("/search", summary="Find pictures by words")
@quickly(_quick_search)
async def by_words(
    server: ServerOfRequest, request: Request, query: Annotated[SearchQuery, Query()]
) -> SearchAnswer:
    """The best pictures for a sentence, or for several sentences together, in any language of the model."""
    query.prefer = query.prefer or accepted_languages(request)
    seconds, (queries, without, hits) = await server.searches.run_timed(server.engine.search, query)
    return SearchAnswer(queries=queries, without=without, **_page(query, seconds, hits))


@router.post(
    "/search",
    summary="Find pictures by a picture",
    responses=UPLOADS,
    openapi_extra={"requestBody": FORM},
)
async def by_picture(server: ServerOfRequest, request: Request) -> SearchAnswer:
    """Pictures similar to the one that is sent; with words, pictures that fit both."""
    server.searches.check()
    settings = server.settings
    with server.uploads.held(request):  # separate slots, so that slow uploads do not block searches by words
        query, image = await read_form(request, limit=settings.upload_bytes, seconds=settings.upload_seconds)

        query.prefer = query.prefer or accepted_languages(request)

        def decode() -> DecodedPicture:
            preprocessing = server.engine.preprocessing()
            return decode_upload(image.file, preprocessing, server.decoders, pixels=settings.pixels)

        try:
            async with server.decoding_turns.held(request):  # apart, so that a slow picture delays no search
                decoded = await server.decoding.run(decode)
        finally:
            await image.close()
        seconds, found = await server.searches.run_timed(server.engine.search, query, decoded)
        queries, without, hits = found
    return SearchAnswer(queries=queries, without=without, **_page(query, seconds, hits))


@router.get("/items/{id}/similar", summary="Find pictures similar to one of the collection")
async def similar(server: ServerOfRequest, id: Id, filters: Annotated[Filters, Query()]) -> SimilarAnswer:
    """Pictures similar to one of the collection, without this one."""
    seconds, hits = await server.searches.run_timed(server.engine.similar, id, filters)
    return SimilarAnswer(**_page(filters, seconds, hits))


class _Page(TypedDict):
    k: int
    offset: int
    took_ms: float
    hits: list[HitAnswer]


def _page(filters: Filters, seconds: float, hits: list[Hit]) -> _Page:
    return {
        "k": filters.k,
        "offset": filters.offset,
        "took_ms": round(seconds * 1000, 2),
        "hits": [HitAnswer.of_hit(hit) for hit in hits],
    }
