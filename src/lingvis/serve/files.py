"""Picture files of a collection as browsers may have them."""

from __future__ import annotations

import io
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

from PIL import ImageOps

from lingvis.collection.stores.contract import Entry
from lingvis.data.formats import open_picture
from lingvis.features.pictures import to_rgb

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
    """A file and what it was when it was opened; mark: changes when the file does."""

    file: BinaryIO
    size: int
    mark: str


def open_file(entry: Entry) -> OpenPicture | None:
    """The picture at the stored path, if it still is one and no link has been put in its or a folder's place."""
    try:
        # Not blocking: opening a pipe would wait for its other end.
        handle = os.open(
            entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except (OSError, ValueError):
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    file = os.fdopen(handle, "rb")
    try:
        if os.path.realpath(entry.path) != entry.path:
            raise OSError("a folder above it is a link now")
        if not os.path.samestat(status, os.stat(entry.path, follow_symlinks=False)):
            raise OSError("replaced just now")
        if not _alike((open_picture(file).format or "").lower(), entry.format):
            raise OSError("another format")
        file.seek(0)
    except Exception:  # Pillow's readers raise nearly anything on a damaged file
        file.close()
        return None
    return OpenPicture(file, status.st_size, f'"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"')


def _alike(found: str, stored: str) -> bool:
    """Whether browsers get the same type for both: a file with several JPEG pictures (MPO) is stored as a JPEG."""
    return SHOWN.get(found, found) == SHOWN.get(stored, stored)


def as_jpeg(picture: OpenPicture) -> bytes | None:
    """The upright picture as a JPEG of bounded size; None where it is damaged."""
    out = io.BytesIO()
    try:
        with picture.file, open_picture(picture.file) as image:
            pixels = to_rgb(ImageOps.exif_transpose(image))
            pixels.thumbnail((SIDE, SIDE))
            pixels.save(out, "JPEG", quality=QUALITY)
    except Exception:  # as above
        return None
    return out.getvalue()
