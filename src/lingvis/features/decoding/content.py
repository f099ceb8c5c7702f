"""Requests to decode a picture, and their results; decoder processes and this process share this code."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lingvis.data.images import decode_upright, encode_jpeg, jpeg_scale, open_image, upright_size
from lingvis.data.picture_input import PictureInput, picture_bytes
from lingvis.data.picture_limits import FILE_BYTES, PIXELS
from lingvis.data.signature import signature
from lingvis.features.decoding.exif import CameraFacts, read_facts
from lingvis.features.pictures import (
    REDUCING_GAP,
    BrokenPicture,
    CostlyPicture,
    DecodedPicture,
    broken_picture,
    cut_views,
)
from lingvis.features.preprocessing import Preprocessing

if TYPE_CHECKING:
    from lingvis.data.rows import Box

NO_FACTS = CameraFacts()


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The views that `lingvis.features.pictures.cut_views` makes."""

    preprocessing: Preprocessing
    boxes: Sequence[Box] = ()
    crops: bool = False

    @property
    def count(self) -> int:
        """Number of views."""
        return max(1, len(self.boxes)) if self.crops else 1


@dataclass(frozen=True, slots=True)
class JpegRequest:
    """A JPEG of at most side x side pixels; short_side: a panorama is larger, so that its shorter side has as many."""

    side: int
    quality: int
    short_side: int = 0


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """The required parts of a picture.

    views: for a backbone; longer_side: pixels scaled to this side; jpeg: for display; pixels: a picture with more is
    rejected. Without any part, the picture is opened but not decoded.
    """

    views: ViewRequest | None = None
    longer_side: int | None = None
    jpeg: JpegRequest | None = None
    pixels: int = PIXELS


@dataclass(frozen=True, slots=True)
class PictureContent:
    """width, height: upright; format: in lower case; facts: of the camera; the rest as requested.

    pixels: uint8 [height, width, 3]; signature: of the picture, with the JPEG.
    """

    width: int
    height: int
    format: str
    facts: CameraFacts
    views: DecodedPicture | None = None
    pixels: NDArray[np.uint8] | None = None
    jpeg: bytes | None = None
    signature: bytes | None = None


Decode = Callable[[bytes, DecodeRequest], PictureContent]  # raises BrokenPicture


def decode_content(data: bytes, request: DecodeRequest) -> PictureContent:
    """Decode the bytes of a file in this process; raises BrokenPicture."""
    try:
        return _decode(io.BytesIO(data), request)
    except BrokenPicture:
        raise
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        raise broken_picture(error) from error


def decode_file(picture: PictureInput, request: DecodeRequest, decode: Decode) -> PictureContent:
    """Read and decode a picture; a path may be behind links; raises BrokenPicture."""
    try:
        data = picture_bytes(picture)
    except OSError as error:
        path = Path(picture) if isinstance(picture, str | Path) else None
        raise broken_picture(error, path) from error
    check_file_size(len(data))
    return decode(data, request)


def check_file_size(size: int) -> None:
    """Raise BrokenPicture if a file is empty or too large."""
    if not size:
        raise BrokenPicture("the file is empty")
    if size > FILE_BYTES:
        raise CostlyPicture(f"the file has {size} bytes; at most {FILE_BYTES} are read")


def _decode(source: BinaryIO, request: DecodeRequest) -> PictureContent:
    with open_image(source, pixels=request.pixels) as image:
        return picture_content(image, request, _kind(image), read_facts(image))


def picture_content(
    image: Image.Image, request: DecodeRequest, format: str, facts: CameraFacts = NO_FACTS
) -> PictureContent:
    """Return the required parts of an opened picture, or of a frame of a video."""
    views, scaled, jpeg, mark, pixels = None, None, None, None, None
    width, height = upright_size(image)
    if request.views is not None:
        asked = request.views
        views, pixels = cut_views(image, asked.boxes, asked.preprocessing, crops=asked.crops)
    elif request.longer_side is not None:
        scaled, pixels = _scale(image, width, height, request.longer_side)
    elif request.jpeg is not None:
        pixels = decode_upright(image, jpeg_scale(image.size, request.jpeg.side, request.jpeg.short_side))
    if request.jpeg is not None and pixels is not None:
        asked_jpeg = request.jpeg
        jpeg = encode_jpeg(
            pixels, asked_jpeg.side, quality=asked_jpeg.quality, short_side=asked_jpeg.short_side
        )
        mark = signature(pixels)
    return PictureContent(width, height, format, facts, views, scaled, jpeg, mark)


def _scale(image: Image.Image, width: int, height: int, side: int) -> tuple[NDArray[np.uint8], Image.Image]:
    """Scale the longer side of the upright picture to `side`; returns also the pixels before scaling."""
    scale = side / max(width, height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    pixels = decode_upright(image, scale)
    return np.asarray(pixels.resize(size, Image.Resampling.BILINEAR, reducing_gap=REDUCING_GAP)), pixels


def _kind(image: Image.Image) -> str:
    """Return the format in lower case; of several JPEG pictures in one file (from phones), the first counts."""
    kind = (image.format or "unknown").lower()
    return "jpeg" if kind == "mpo" else kind
