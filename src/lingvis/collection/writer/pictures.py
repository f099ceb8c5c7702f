"""A picture file read once: what the backbone takes, a thumbnail, and the facts for people."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from lingvis.collection.writer.scan import Found
from lingvis.data.formats import open_picture
from lingvis.data.regular import read_regular
from lingvis.features.backbones import Preprocessing
from lingvis.features.pictures import (
    BrokenPicture,
    Decoded,
    cut_of,
    reason_of,
    shorter_side,
    square_of,
    to_rgb,
    upright_size,
)

FILE_BYTES = 2**30  # Pillow refuses more pixels than would fill this at six bytes each
THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 320, 80
EXIF_IFD, TAKEN, CHANGED = 0x8769, 0x9003, 0x0132
EXIF_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Facts:
    """hash: of the file; taken: when, as far as the file tells; thumbnail: a JPEG; the rest as in Entry."""

    hash: str
    width: int
    height: int
    format: str
    taken: datetime | None
    thumbnail: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """A file's facts, and its one view for the backbone."""

    facts: Facts
    decoded: Decoded


@dataclass(frozen=True, slots=True)
class Same:
    """A file whose content has been seen before: nothing needs decoding."""

    hash: str


class UnreadPicture(BrokenPicture):
    """A file that could not be read this time, and may be all right; the message says why."""


def read_picture(
    file: Found, preprocessing: Preprocessing, seen: Callable[[str], bool]
) -> Picture | Same | BrokenPicture:
    """Read and decode a file, unless `seen` knows its hash; what cannot be used comes back as the reason."""
    if file.size > FILE_BYTES:
        return BrokenPicture(f"the file has {file.size} bytes; at most {FILE_BYTES} are read")
    try:
        data = read_regular(file.path, FILE_BYTES)
    except OSError as error:
        return UnreadPicture(error.strerror or str(error))
    try:
        digest = hashlib.sha256(data).hexdigest()
        return Same(digest) if seen(digest) else _decode(data, digest, preprocessing)
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        return BrokenPicture(reason_of(Path(file.path), error))


def _decode(data: bytes, digest: str, preprocessing: Preprocessing) -> Picture:
    with open_picture(io.BytesIO(data)) as image:
        width, height = upright_size(image)
        kind, taken = _kind(image), _taken(image)
        cut = cut_of(np.array([0.0, 0.0, width, height]), preprocessing)
        # A JPEG can be decoded at a half, a quarter or an eighth: the smallest that still feeds the backbone.
        scale = min(1.0, preprocessing.size / shorter_side(cut))
        image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
        ImageOps.exif_transpose(image, in_place=True)
        pixels = to_rgb(image)
        square = square_of(pixels, cut * ([pixels.width / width, pixels.height / height] * 2), preprocessing)
    whole = np.array([[0.0, 0.0, width, height]])
    decoded = Decoded(square[None], whole.astype(np.float32), np.array([[0.0, 0.0, 1.0, 1.0]]))
    return Picture(Facts(digest, width, height, kind, taken, _thumbnail(pixels)), decoded)


def _kind(image: Image.Image) -> str:
    """The format in small letters; phones put several JPEG pictures into one file, of which the first counts."""
    kind = (image.format or "unknown").lower()
    return "jpeg" if kind == "mpo" else kind


def _taken(image: Image.Image) -> datetime | None:
    exif = image.getexif()
    for value in (exif.get_ifd(EXIF_IFD).get(TAKEN), exif.get(CHANGED)):
        if isinstance(value, str) and (match := EXIF_DATE.match(value)):
            with contextlib.suppress(ValueError):  # cameras without a clock write 0000:00:00
                return datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    return None


def _thumbnail(pixels: Image.Image) -> bytes:
    small = pixels.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=THUMBNAIL_QUALITY)
    return out.getvalue()
