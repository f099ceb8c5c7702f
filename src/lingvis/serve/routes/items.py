"""Routes of single pictures: records, thumbnails, files."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import anyio
from fastapi import APIRouter, Depends, Query
from fastapi import Path as InPath
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lingvis.serve.answers import ErrorAnswer, ItemAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.pictures.files import OpenPicture, as_jpeg
from lingvis.serve.pictures.thumbnails import Thumbnail
from lingvis.serve.routes.quick import QuickRoute, quickly
from lingvis.serve.server import Server, ServerOfRequest, server_of

CHUNK = 256 * 1024
DAY = "private, max-age=86400"
ASK_FIRST = "private, no-cache"
GONE = "the file of this picture is gone or has changed; run lingvis index to bring the collection up to date"
ID_CHARACTERS = 64
USUAL = re.compile(rb"(v=[0-9a-f]{1,64})?")  # parameters that need no further check
Id = Annotated[str, InPath(max_length=ID_CHARACTERS, description="From a search.")]
Version = Annotated[
    str | None,
    Query(max_length=64, description="The picture's hash: with it, browsers keep the thumbnail for a day."),
]
PICTURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/*": {}}, "description": "The picture."},
    304: {"description": "The browser's version is current (If-None-Match)."},
}
router = APIRouter(
    prefix="/api/items/{id}",
    tags=["pictures"],
    route_class=QuickRoute,
    dependencies=[Depends(allowed)],
    responses={
        401: {"model": ErrorAnswer, "description": "The token is missing or wrong."},
        404: {"model": ErrorAnswer, "description": "There is no such picture."},
    },
)


@router.get("", summary="The record of a picture")
async def item(server: ServerOfRequest, id: Id) -> ItemAnswer:
    """A picture without its pixels."""
    return ItemAnswer.of(await server.reads.run(server.engine.info, id))


async def _quick_thumbnail(request: Request) -> Response | None:
    query, id = request.scope["query_string"], request.path_params["id"]
    if not USUAL.fullmatch(query) or len(id) > ID_CHARACTERS:
        return None
    return await thumbnail(server_of(request), id, request, query[2:].decode() or None)


@router.get("/thumbnail", summary="A small JPEG", response_class=Response, responses=PICTURE)
@quickly(_quick_thumbnail)
async def thumbnail(server: ServerOfRequest, id: Id, request: Request, v: Version = None) -> Response:
    """The picture with sides of at most 320 pixels."""
    small = (server.engine.thumbnails.find(id, v) if v else None) or await _read_thumbnail(server, id, v)
    cache = DAY if v else ASK_FIRST  # a replaced picture keeps its id
    return unless_known(request, small.mark, cache) or Response(
        small.jpeg, media_type="image/jpeg", headers={"ETag": small.mark, "Cache-Control": cache}
    )


async def _read_thumbnail(server: Server, id: str, hash: str | None) -> Thumbnail:
    small, certain = await server.reads.run(server.engine.thumbnail, id, hash)
    if hash and certain:
        server.engine.thumbnails.keep(id, hash, small)
    return small


@router.get("/picture", summary="The picture itself", response_class=Response, responses=PICTURE)
async def picture(server: ServerOfRequest, id: Id, request: Request) -> Response:
    """The original file, up to the end of its picture, if browsers can show its format; otherwise a JPEG.

    Of a moment of a video, its frame, as small as a thumbnail.
    """
    info = await server.reads.run(server.engine.info, id)
    if info.second is not None:
        return await thumbnail(server, id, request)
    opened = await server.reads.run(server.files.open, info)
    if opened is None:
        raise HTTPException(404, GONE)
    known = unless_known(request, opened.mark, ASK_FIRST)
    if known is not None:
        opened.file.close()
        return known
    headers = {"ETag": opened.mark, "Cache-Control": ASK_FIRST}
    name = Path(info.path)
    if opened.media_type is None:
        headers["Content-Disposition"] = disposition(name.with_suffix(".jpg").name)
        try:
            converted = await server.conversions.run(as_jpeg, opened, server.converters)
        finally:
            opened.file.close()
        if converted is None:
            raise HTTPException(404, GONE)
        return Response(converted, media_type="image/jpeg", headers=headers)
    headers |= {"Content-Disposition": disposition(name.name), "Content-Length": str(opened.size)}
    return StreamingResponse(chunks(opened, opened.size), media_type=opened.media_type, headers=headers)


def unless_known(request: Request, current: str, cache: str) -> Response | None:
    """Return 304 if the browser already has this version."""
    marks = [mark.strip().removeprefix("W/") for mark in request.headers.get("if-none-match", "").split(",")]
    return (
        Response(status_code=304, headers={"ETag": current, "Cache-Control": cache})
        if current in marks
        else None
    )


async def chunks(opened: OpenPicture, left: int) -> AsyncIterator[bytes]:
    """Yield only as many bytes as announced, and none after the file was changed."""
    with opened.file:
        while left and (chunk := await anyio.to_thread.run_sync(opened.read, min(CHUNK, left))):
            left -= len(chunk)
            yield chunk


def disposition(name: str) -> str:
    """Return the header that names a file."""
    return f"inline; filename*=UTF-8''{quote(name, safe='')}"
