"""Picture files of a collection, for browsers."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

from lingvis.collection.stores.records import PictureInfo
from lingvis.data.images import open_image
from lingvis.data.picture_limits import FILE_BYTES
from lingvis.features.decoding.content import DecodeRequest, JpegRequest
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture

SHOWN = {
    "jpeg": "image/jpeg",
    "mpo": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "bmp": "image/bmp",
}
SIDE, QUALITY = 4096, 90  # of a picture in a format that browsers do not show


@dataclass(frozen=True, slots=True)
class OpenPicture:
    """An open file with its size; mark: an identifier that changes with the file."""

    file: BinaryIO
    size: int
    mark: str


def open_file(info: PictureInfo) -> OpenPicture | None:
    """Open the picture at the stored path; None if it is gone, or if the file or a folder above it is now a link."""
    try:
        # Non-blocking, because opening a pipe would wait for its other end.
        handle = os.open(info.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    file = os.fdopen(handle, "rb")
    try:
        if os.path.realpath(info.path) != info.path:
            raise OSError("a folder above it is a link now")
        if not os.path.samestat(status, os.stat(info.path, follow_symlinks=False)):
            raise OSError("replaced just now")
        with open_image(file) as image:
            if not _alike((image.format or "").lower(), info.format):
                raise OSError("another format")
        file.seek(0)
    except Exception:  # Pillow's readers raise nearly anything on a damaged file
        file.close()
        return None
    return OpenPicture(file, status.st_size, f'"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"')


def _alike(actual: str, stored: str) -> bool:
    """Return whether both formats have the same type for browsers: several JPEG pictures in a file (MPO) count as JPEG."""
    return SHOWN.get(actual, actual) == SHOWN.get(stored, stored)


def as_jpeg(picture: OpenPicture, decoders: DecoderPool) -> bytes | None:
    """Convert the upright picture to a JPEG of bounded size; None if it is damaged."""
    try:
        with picture.file as file:
            data = file.read(FILE_BYTES)
        return decoders.decode(data, DecodeRequest(jpeg=JpegRequest(SIDE, QUALITY))).jpeg
    except (OSError, BrokenPicture):
        return None
