"""Pictures: the one place where a file is opened as a picture and where its pixels are decoded.

Datasets, collections, queries, detectors, re-rankers and pages all use it, so that a file has the same pixels
everywhere.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import importlib
import importlib.util
import io
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageOps

from lingvis.data.picture_limits import (
    FILE_BYTES,
    JPEG_START,
    PIXELS,
    PictureLimitError,
    check_jpeg,
    check_memory,
    check_pixels,
)
from lingvis.files import open_real_file, open_regular

HEIC_SUFFIXES = {".heic", ".heif"} if importlib.util.find_spec("pillow_heif") else set()
# Pillow supports many more, EPS by starting another program. JPEG includes several pictures in one file (MPO).
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF")
PLUGINS = ("Jpeg", "Mpo", "Png", "WebP", "Gif", "Bmp", "Tiff", "Avif")
UNKNOWN_FORMAT = (
    "the file is not a picture of a known format; use JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF"
)
ORIENTATION_TAG = 0x0112
THUMBNAIL = 200  # pixels
WIDEST = 5  # longer side of a thumbnail that is sharp at its shorter side, as a multiple of the latter
PART = 2**17  # pixels that are converted at a time


@contextmanager
def open_image(source: str | Path | BinaryIO, *, pixels: int = PIXELS) -> Iterator[Image.Image]:
    """Open a picture without decoding its pixels; source: a path, or a file that is open for reading.

    Raises UnidentifiedImageError if the content is not in one of FORMATS, whatever the file's name, OSError if the
    path is not a regular file, and PictureLimitError if the picture has more than `pixels` pixels or is beyond another
    limit of `lingvis.data.picture_limits`.
    """
    if isinstance(source, str | Path):
        with open_regular(source) as file, _open_checked(file, pixels) as image:
            yield image
    else:
        with _open_checked(source, pixels) as image:
            yield image


def read_real_file(path: str | Path, limit: int) -> bytes:
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
    share; other formats are decoded at full size. The result has pixels only: no comment, EXIF or profile of the file.
    """
    full = image.size
    image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
    check_memory(image, full)
    ImageOps.exif_transpose(image, in_place=True)
    pixels = to_rgb(image)
    pixels.info = {}
    return pixels


def to_rgb(image: Image.Image) -> Image.Image:
    """Convert to 8-bit RGB: 16-bit grey is scaled, transparent parts become white."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _convert_in_parts(image, _scale_grey)
    if image.has_transparency_data:
        return _convert_in_parts(image, _on_white)
    return image if image.mode == "RGB" else image.convert("RGB")


def _convert_in_parts(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """Convert some rows at a time, so that no second copy of all pixels is needed."""
    rgb = Image.new("RGB", image.size)
    columns = min(image.width, PART)
    rows = PART // columns
    for top in range(0, image.height, rows):
        for left in range(0, image.width, columns):
            right, bottom = min(image.width, left + columns), min(image.height, top + rows)
            rgb.paste(convert(image.crop((left, top, right, bottom))), (left, top))
    return rgb


def _scale_grey(image: Image.Image) -> Image.Image:
    grey = np.clip(np.asarray(image).astype(np.int64) >> 8, 0, 255).astype(np.uint8)
    return Image.fromarray(grey)


def _on_white(image: Image.Image) -> Image.Image:
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image.convert("RGBA"))
    return ground.convert("RGB")


def jpeg_scale(size: tuple[int, int], side: int, short_side: int = 0) -> float:
    """Return the scale at which a picture fits side x side pixels, or its shorter side has `short_side`.

    The larger of both, at most 1; a panorama gets at most WIDEST times `short_side` as its longer side.
    """
    longest = side / max(size)
    shortest = min(short_side / min(size), WIDEST * short_side / max(size))
    return min(1.0, max(longest, shortest))


def encode_jpeg(pixels: Image.Image, side: int, *, quality: int, short_side: int = 0) -> bytes:
    """Return a JPEG without comments or other metadata, of the size of `jpeg_scale`.

    The picture itself becomes so small: a copy of it may need hundreds of megabytes.
    """
    scale = jpeg_scale(pixels.size, side, short_side)
    pixels.thumbnail((math.ceil(pixels.width * scale), math.ceil(pixels.height * scale)))
    pixels.info = {}
    out = io.BytesIO()
    pixels.save(out, "JPEG", quality=quality)
    return out.getvalue()


def thumbnail_uri(path: Path) -> str | None:
    """Return a thumbnail as a data URI, for a page that needs no other file; None if the picture cannot be read."""
    try:
        with open_image(path) as image:
            small = encode_jpeg(decode_upright(image, THUMBNAIL / max(image.size)), THUMBNAIL, quality=80)
    except (OSError, ValueError, SyntaxError):
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(small).decode('ascii')}"


@contextmanager
def _open_checked(file: BinaryIO, pixels: int) -> Iterator[Image.Image]:
    buffered = _check_scans(file)
    try:
        with Image.open(file, formats=readable_formats()) as image:
            check_pixels(image, pixels)
            if image.format not in ("JPEG", "MPO"):  # those are checked when their reduction is known
                check_memory(image, image.size)
            elif buffered:
                image.info["progressive"] = 1  # Pillow sets it for one of the two kinds that are buffered
            yield image
    except Image.DecompressionBombError as error:
        raise PictureLimitError(f"it has more than {pixels:,} pixels; make it smaller") from error


def _check_scans(file: BinaryIO) -> bool:
    """Check the scans of a JPEG; returns whether its decoder buffers the whole picture, False for other formats."""
    is_jpeg = file.read(len(JPEG_START)) == JPEG_START
    file.seek(0)
    buffered = is_jpeg and check_jpeg(file.read(FILE_BYTES))
    file.seek(0)
    return buffered


@functools.cache
def readable_formats() -> list[str]:
    """Load the readers of Pillow for FORMATS; returns the formats that have one."""
    if HEIC_SUFFIXES:
        importlib.import_module("pillow_heif").register_heif_opener()
    for name in PLUGINS:  # all of Pillow's would double the time to start a decoder process
        with contextlib.suppress(ImportError):
            importlib.import_module(f"PIL.{name}ImagePlugin")
    return [name for name in FORMATS if name in Image.OPEN]
