"""Pictures: the one place where a file is opened as a picture and where its pixels are decoded.

Datasets, collections, queries, detectors, re-rankers and pages all use it, so that a file has the same pixels
everywhere.
"""

from __future__ import annotations

import base64
import errno
import functools
import importlib
import importlib.util
import io
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps

from lingvis.files import NOT_REGULAR, open_real_file

HEIC_SUFFIXES = {".heic", ".heif"} if importlib.util.find_spec("pillow_heif") else set()
# Pillow supports many more, EPS by starting another program. JPEG includes several pictures in one file (MPO).
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF")
UNKNOWN_FORMAT = (
    "the file is not a picture of a known format; use JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF"
)
ORIENTATION_TAG = 0x0112
THUMBNAIL = 200  # pixels


@contextmanager
def open_image(source: str | Path | BinaryIO) -> Iterator[Image.Image]:
    """Open a picture without decoding its pixels; source: a path, or a file that is open for reading.

    Raises UnidentifiedImageError if the content is not in one of FORMATS, whatever the file's name, and OSError if the
    path is not a regular file.
    """
    if isinstance(source, str | Path):
        with _open_regular(source) as file, Image.open(file, formats=_readable_formats()) as image:
            yield image
    else:
        with Image.open(source, formats=_readable_formats()) as image:
            yield image


def read_regular(path: str | Path, limit: int) -> bytes:
    """Return the first `limit` bytes of a regular file; raises OSError for anything else, also for a link."""
    with open_real_file(path) as file:
        return file.read(min(os.fstat(file.fileno()).st_size, limit))


def upright_size(image: Image.Image) -> tuple[int, int]:
    """Return width and height of the picture after its EXIF rotation."""
    turned = image.getexif().get(ORIENTATION_TAG, 1) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def decode_upright(image: Image.Image, scale: float = 1.0) -> Image.Image:
    """Decode an opened picture as upright 8-bit RGB.

    scale: the required share of its size. A JPEG is decoded at 1/2, 1/4 or 1/8, the smallest that is not below this
    share; other formats are decoded at full size.
    """
    image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
    ImageOps.exif_transpose(image, in_place=True)
    return to_rgb(image)


def to_rgb(image: Image.Image) -> Image.Image:
    """Convert to 8-bit RGB: 16-bit grey is scaled, transparent parts become white."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        grey = np.clip(np.asarray(image).astype(np.int64) >> 8, 0, 255).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        return ground.convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def decode_within(image: Image.Image, side: int) -> Image.Image:
    """Decode as upright RGB of at most `side` x `side` pixels, for display."""
    pixels = decode_upright(image, side / max(image.size)).copy()
    pixels.thumbnail((side, side))
    return pixels


def thumbnail_uri(path: Path) -> str | None:
    """Return a thumbnail as a data URI, for a page that needs no other file; None if the picture cannot be read."""
    try:
        with open_image(path) as image:
            small = decode_within(image, THUMBNAIL)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    data = io.BytesIO()
    small.save(data, format="JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode('ascii')}"


@contextmanager
def _open_regular(path: str | Path) -> Iterator[BinaryIO]:
    """Open a regular file: a pipe could block forever, and a device may never end."""
    handle = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK
    )  # non-blocking, so that opening a pipe returns at once
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    with os.fdopen(handle, "rb") as file:
        yield file


@functools.cache
def _readable_formats() -> list[str]:
    if HEIC_SUFFIXES:
        importlib.import_module("pillow_heif").register_heif_opener()
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]
