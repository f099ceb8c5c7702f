"""A ZIP file of pictures, made while it is sent: one part of one file is in memory at a time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any, BinaryIO, cast

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lingvis.collection.stores.records import PictureInfo
from lingvis.serve.downloads.names import UniqueNames
from lingvis.serve.pictures.files import OpenPicture, as_jpeg
from lingvis.serve.server import Server

CHUNK = 256 * 1024
MISSING = "missing.txt"
LATE = 2**31  # bytes from which an entry needs the larger format
EARLIEST, LATEST = datetime(1980, 1, 1), datetime(2107, 12, 31)  # of a date in a ZIP file


class ZipResponse(StreamingResponse):
    """Sends an archive; raises 429 if the client already has its share of downloads."""

    def __init__(self, server: Server, pictures: Sequence[PictureInfo], headers: dict[str, str]) -> None:
        super().__init__(zipped(server, pictures), media_type="application/zip", headers=headers)
        self._slots = server.downloads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slots.held(Request(scope)):
            await super().__call__(scope, receive, send)


async def zipped(server: Server, pictures: Sequence[PictureInfo]) -> AsyncIterator[bytes]:
    """Yield the bytes of an archive; pictures that cannot be read any more are listed in a text in it."""
    pipe, names = _Pipe(), UniqueNames()
    names(MISSING)
    missing: list[str] = []
    archive = zipfile.ZipFile(cast(BinaryIO, pipe), "w")
    for info in pictures:
        opened = await server.reads.run(server.files.open, info)
        if opened is None:
            missing.append(info.path)
            continue
        if opened.media_type is None:  # sent as a JPEG, as by the route of the picture
            small = await _converted(server, opened)
            if small is None:
                missing.append(info.path)
                continue
            name = names(PurePath(info.path).with_suffix(".jpg").name)
            await anyio.to_thread.run_sync(archive.writestr, _entry(name, info), small)
            yield pipe.taken()
            continue
        entry = _entry(names(PurePath(info.path).name), info)
        with opened.file, archive.open(entry, "w", force_zip64=opened.size > LATE) as target:
            left = opened.size
            while left and (chunk := await anyio.to_thread.run_sync(opened.read, min(CHUNK, left))):
                left -= len(chunk)
                target.write(chunk)
                yield pipe.taken()
    if missing:
        text = "".join(f"{PurePath(path).name}: gone or changed\n" for path in missing)
        archive.writestr(MISSING, text.encode(errors="replace"))
    archive.close()
    yield pipe.taken()


async def _converted(server: Server, opened: OpenPicture) -> bytes | None:
    try:
        return await server.conversions.run(as_jpeg, opened, server.converters)
    except HTTPException:  # too many conversions wait
        return None
    finally:
        opened.file.close()


def _entry(name: str, info: PictureInfo) -> zipfile.ZipInfo:
    """Return the entry of a file: stored without compression, which pictures do not need."""
    date = min(max(info.date, EARLIEST), LATEST)
    entry = zipfile.ZipInfo(name, date.timetuple()[:6])
    entry.external_attr = 0o644 << 16
    return entry


class _Pipe(io.RawIOBase):
    """A file without positions, so that the archive is written from start to end."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
