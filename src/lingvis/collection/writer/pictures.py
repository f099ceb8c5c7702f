"""A picture file, read once: pixels for the backbone, a thumbnail, and facts for display."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from PIL import Image

from lingvis.collection.writer.scan import ScannedFile
from lingvis.data.images import open_image, read_regular, upright_size
from lingvis.features.backbones import Preprocessing
from lingvis.features.pictures import BrokenPicture, DecodedPicture, cut_views, reason_of

FILE_BYTES = 2**30  # Pillow rejects more pixels than would fill this at six bytes each
THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 320, 80
EXIF_IFD, TAKEN, CHANGED = 0x8769, 0x9003, 0x0132
EXIF_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """hash: of the file; taken: the time in the file, if any; thumbnail: a JPEG; the rest as in PictureInfo."""

    hash: str
    width: int
    height: int
    format: str
    taken: datetime | None
    thumbnail: bytes


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """A file's facts, and its view for the backbone."""

    facts: PictureFacts
    decoded: DecodedPicture


@dataclass(frozen=True, slots=True)
class DuplicateContent:
    """A file whose content is already stored, so that it need not be decoded."""

    hash: str


class UnreadPicture(BrokenPicture):
    """A file that could not be read this time but may be fine; the message is the reason."""


def read_picture(
    file: ScannedFile, preprocessing: Preprocessing, seen: Callable[[str], bool]
) -> DecodedFile | DuplicateContent | BrokenPicture:
    """Read and decode a file, unless `seen` contains its hash; returns the reason for an unusable file."""
    if file.size > FILE_BYTES:
        return BrokenPicture(f"the file has {file.size} bytes; at most {FILE_BYTES} are read")
    try:
        data = read_regular(file.path, FILE_BYTES)
    except OSError as error:
        return UnreadPicture(error.strerror or str(error))
    try:
        digest = hashlib.sha256(data).hexdigest()
        return DuplicateContent(digest) if seen(digest) else _decode(data, digest, preprocessing)
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        return BrokenPicture(reason_of(Path(file.path), error))


def _decode(data: bytes, digest: str, preprocessing: Preprocessing) -> DecodedFile:
    with open_image(io.BytesIO(data)) as image:
        width, height = upright_size(image)
        kind, taken = _kind(image), _taken(image)
        decoded, pixels = cut_views(image, (), preprocessing, crops=False)
    return DecodedFile(PictureFacts(digest, width, height, kind, taken, _thumbnail(pixels)), decoded)


def _kind(image: Image.Image) -> str:
    """Return the format in lower case; of several JPEG pictures in one file (from phones), the first counts."""
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
