"""Routes of videos: their files, in parts."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lingvis.serve.answers import ErrorAnswer
from lingvis.serve.limits.access import allowed
from lingvis.serve.routes.items import ASK_FIRST, GONE, Id, chunks, disposition, unless_known
from lingvis.serve.routes.ranges import UnsatisfiableRange, byte_range
from lingvis.serve.server import ServerOfRequest

router = APIRouter(
    prefix="/api/items/{id}/video",
    tags=["pictures"],
    dependencies=[Depends(allowed)],
    responses={
        401: {"model": ErrorAnswer, "description": "The token is missing or wrong."},
        404: {"model": ErrorAnswer, "description": "There is no such video."},
    },
)


@router.head("", include_in_schema=False)
@router.get(
    "",
    summary="The video of a moment",
    response_class=Response,
    responses={
        200: {"content": {"video/*": {}}, "description": "The whole file."},
        206: {"content": {"video/*": {}}, "description": "A part of it (Range)."},
        304: {"description": "The browser's version is current (If-None-Match)."},
        416: {"model": ErrorAnswer, "description": "The file has no such part."},
    },
)
async def video(server: ServerOfRequest, id: Id, request: Request) -> Response:
    """The file whose moment has this id; players ask for parts of it."""
    info = await server.reads.run(server.engine.info, id)
    if info.second is None:
        raise HTTPException(404, "this is a picture, not a moment of a video; ask for /picture")
    opened = await server.reads.run(server.files.open, info)
    if opened is None:
        raise HTTPException(404, GONE)
    headers = {
        "ETag": opened.mark,
        "Cache-Control": ASK_FIRST,
        "Accept-Ranges": "bytes",
        "Content-Disposition": disposition(Path(info.path).name),
    }
    asked = request.headers
    try:
        part = byte_range(asked.get("range"), asked.get("if-range"), size=opened.size, mark=opened.mark)
    except UnsatisfiableRange as error:
        opened.file.close()
        raise HTTPException(
            416,
            f"the file has {opened.size} bytes, and none of them was asked for",
            headers={"Content-Range": f"bytes */{opened.size}"},
        ) from error
    known = unless_known(request, opened.mark, ASK_FIRST)
    if known is not None:
        opened.file.close()
        return known
    start, end = part or (0, opened.size)
    headers["Content-Length"] = str(end - start)
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{opened.size}"
    status = 200 if part is None else 206
    if request.method == "HEAD":
        opened.file.close()
        return Response(status_code=status, media_type=opened.media_type, headers=headers)
    opened.file.seek(start)
    body = chunks(opened, end - start)
    return StreamingResponse(body, status_code=status, media_type=opened.media_type, headers=headers)
