"""Routes that send several pictures as one file."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lingvis.serve.answers import ErrorAnswer
from lingvis.serve.downloads.archive import ZipResponse
from lingvis.serve.downloads.names import safe_name
from lingvis.serve.limits.access import allowed
from lingvis.serve.routes.albums import Ids, Name
from lingvis.serve.routes.bodies import body_of, read_json_body
from lingvis.serve.server import ServerOfRequest
from lingvis.serve.settings import DOWNLOAD_BYTES, SELECTED

router = APIRouter(
    prefix="/api/downloads",
    tags=["pictures"],
    dependencies=[Depends(allowed)],
    responses={401: {"model": ErrorAnswer, "description": "The token is missing or wrong."}},
)


class DownloadRequest(BaseModel):
    """The pictures of a ZIP file: ids, or all pictures of an album."""

    model_config = ConfigDict(extra="forbid")
    ids: Ids = []
    album: Name | None = None


class DownloadAnswer(BaseModel):
    """Where the file can be fetched for ten minutes; bytes: about its size."""

    id: str
    pictures: int
    bytes: int


@router.post("", summary="Prepare a ZIP file of pictures", openapi_extra=body_of(DownloadRequest))
async def prepare(server: ServerOfRequest, request: Request) -> DownloadAnswer:
    """Returns the id of a download."""
    with server.bodies.held(request):
        body = await read_json_body(request, DownloadRequest)
    if body.album is not None and not body.ids:
        album = body.album
        infos = await server.reads.run(server.engine.albums, lambda albums: albums.pictures(album))
    else:
        infos = await server.reads.run(server.engine.infos, body.ids)
    if not infos:
        raise HTTPException(
            422, "there are no pictures to download; give their ids, or an album that has some"
        )
    infos = list({info.path: info for info in infos}.values())  # several moments are one video
    size = sum(info.size for info in infos)
    if len(infos) > SELECTED or size > DOWNLOAD_BYTES:
        raise HTTPException(
            413,
            f"{len(infos)} pictures of {size / 1e6:.0f} MB are too many for one download; choose at most {SELECTED} "
            f"pictures and {DOWNLOAD_BYTES / 1e6:.0f} MB",
        )
    name = safe_name(body.album if body.album is not None else "pictures")
    return DownloadAnswer(id=server.tickets.issue(name, infos), pictures=len(infos), bytes=size)


@router.get(
    "/{id}",
    summary="A ZIP file of pictures",
    response_class=Response,
    responses={
        200: {"content": {"application/zip": {}}, "description": "The pictures, as by their own routes."},
        404: {"model": ErrorAnswer, "description": "The download has expired."},
    },
)
async def fetch(
    server: ServerOfRequest, id: Annotated[str, InPath(max_length=64, description="Of the download.")]
) -> Response:
    """Pictures are sent as by /api/items/{id}/picture; those that are gone are listed in missing.txt."""
    ticket = server.tickets.find(id)
    if ticket is None:
        raise HTTPException(404, "this download has expired; choose the pictures again")
    disposition = f"attachment; filename*=UTF-8''{quote(ticket.name, safe='')}.zip"
    return ZipResponse(server, ticket.pictures, {"Content-Disposition": disposition})
