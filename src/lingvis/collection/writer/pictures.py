"""A picture file, read once: pixels for the backbone, a thumbnail, and facts for display."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from lingvis.collection.writer.found import ScannedFile
from lingvis.data.images import read_real_file
from lingvis.data.picture_limits import FILE_BYTES
from lingvis.features.decoding.content import Decode, DecodeRequest, JpegRequest, ViewRequest, check_file_size
from lingvis.features.decoding.exif import CameraFacts
from lingvis.features.pictures import BrokenPicture, DecodedPicture
from lingvis.features.preprocessing import Preprocessing

THUMBNAIL = JpegRequest(side=320, quality=80, short_side=240)


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """hash: of the file; camera: what the camera wrote; thumbnail: a JPEG; the rest as in PictureInfo.

    Those of a moment of a video have its second, and the duration of the video if it is known.
    """

    hash: str
    width: int
    height: int
    format: str
    camera: CameraFacts
    thumbnail: bytes
    signature: bytes
    second: float | None = None
    duration: float | None = None


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """A file's facts, and its view for the backbone."""

    facts: PictureFacts
    decoded: DecodedPicture


@dataclass(frozen=True, slots=True)
class DuplicateContent:
    """A file whose content is already stored, so that it need not be decoded."""

    hash: str


@dataclass(frozen=True, slots=True)
class WrittenPicture:
    """A new picture with a row that its worker has written; names: of all that it wrote for the batch, for the store."""

    hash: str
    names: tuple[str, ...]


class UnreadPicture(BrokenPicture):
    """A file that could not be read this time but may be fine; the message is the reason."""


def read_picture(
    file: ScannedFile, preprocessing: Preprocessing, seen: Callable[[str], bool], decode: Decode
) -> DecodedFile | DuplicateContent | BrokenPicture:
    """Read and decode a file, unless `seen` contains its hash; returns the reason for an unusable file."""
    request = DecodeRequest(views=ViewRequest(preprocessing), jpeg=THUMBNAIL)
    try:
        check_file_size(file.size)
        data = read_real_file(file.path, FILE_BYTES)
        check_file_size(len(data))
        digest = hashlib.sha256(data).hexdigest()
        if seen(digest):
            return DuplicateContent(digest)
        content = decode(data, request)
    except BrokenPicture as broken:
        return broken
    except OSError as error:
        return UnreadPicture(error.strerror or str(error))
    assert (
        content.views is not None and content.jpeg is not None and content.signature is not None
    )  # requested
    facts = PictureFacts(
        digest,
        content.width,
        content.height,
        content.format,
        content.facts,
        content.jpeg,
        content.signature,
    )
    return DecodedFile(facts, content.views)
