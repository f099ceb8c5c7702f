"""Pictures as callers of the Python API give them: a path, bytes, an open file, an image of Pillow, or an array."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from lingvis.data.images import to_rgb
from lingvis.data.picture_limits import FILE_BYTES
from lingvis.errors import UserError
from lingvis.files import open_regular

PictureInput = str | Path | bytes | BinaryIO | Image.Image | NDArray[Any]
ALLOWED = "a path, bytes, a file open for reading, an image of Pillow, or an array uint8 [height, width, 3]"


def check_pictures(pictures: Sequence[PictureInput]) -> None:
    """Raise if a list of pictures is a single picture."""
    single = isinstance(pictures, str | Path | bytes | Image.Image) or hasattr(pictures, "read")
    if single or (isinstance(pictures, np.ndarray) and pictures.ndim != 4):
        raise UserError(
            f"pictures must be a list, got {describe_picture(cast(PictureInput, pictures))}; write [picture]"
        )


def picture_bytes(picture: PictureInput) -> bytes:
    """The content of a picture file, at most FILE_BYTES + 1 bytes; raises OSError if a path cannot be read.

    The pixels of an image or an array become an uncompressed file, so that all pictures take the same way.
    """
    if isinstance(picture, str | Path):
        with open_regular(picture) as file:
            return file.read(FILE_BYTES + 1)
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, np.ndarray):
        picture = _image_of(picture)
    if isinstance(picture, Image.Image):
        out = io.BytesIO()
        to_rgb(ImageOps.exif_transpose(picture)).save(out, "BMP")
        return out.getvalue()
    if not hasattr(picture, "read"):
        raise UserError(f"a picture is {describe_picture(picture)}; give {ALLOWED}")
    if picture.seekable():
        picture.seek(0)  # as Pillow does: a file may be used again, or was just written
    content = picture.read(FILE_BYTES + 1)
    if not isinstance(content, bytes):
        raise UserError('a picture is a file that is open for text; open it with mode "rb"')
    return content


def describe_picture(picture: PictureInput) -> str:
    """A name of the picture for messages: its path, or its kind."""
    if isinstance(picture, str | Path):
        return str(picture)
    if isinstance(picture, np.ndarray):
        return f"an array {picture.dtype} {list(picture.shape)}"
    return f"of type {type(picture).__name__}"


def _image_of(pixels: NDArray[Any]) -> Image.Image:
    """An array as an image: grey [height, width], or RGB or RGBA [height, width, channels]."""
    grey, channels = pixels.ndim == 2, pixels.shape[2:]
    if pixels.dtype != np.uint8 or not (grey or channels in ((3,), (4,))) or 0 in pixels.shape:
        raise UserError(
            f"a picture is {describe_picture(pixels)}; give uint8 [height, width], [height, width, 3] or "
            "[height, width, 4] with values from 0 to 255"
        )
    return Image.fromarray(cast(NDArray[np.uint8], np.ascontiguousarray(pixels)))
