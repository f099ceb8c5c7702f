"""Picture and video files of a collection, for browsers: only while a file has the content that was indexed."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from lingvis.collection.stores.records import PictureInfo
from lingvis.collection.writer.scan import stored_time
from lingvis.data.images import open_image
from lingvis.data.picture_limits import FILE_BYTES
from lingvis.features.decoding.content import DecodeRequest, JpegRequest
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.pictures import BrokenPicture
from lingvis.files import open_real_file
from lingvis.serve.pictures.picture_end import picture_end

SHOWN = {
    "jpeg": "image/jpeg",
    "mpo": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "bmp": "image/bmp",
}
PLAYED = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "mkv": "video/x-matroska",
    "avi": "video/x-msvideo",
}
HASHED_BYTES = 2**30  # of a video; of a larger one, size and time must be those that were indexed
SIDE, QUALITY = 4096, 90  # of a picture in a format that browsers do not show
REMEMBERED = 4096  # files whose content is not read again
# A file that changed this short a time ago may change again without another time: file systems count in ticks.
SETTLED_NS = 2 * 10**9

# Device, inode, size, times of the last change of the content and of anything: differs after every change.
Version = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file: hash: SHA-256; end: the number of bytes that its picture takes, None if unclear."""

    hash: str
    format: str
    end: int | None


@dataclass(frozen=True, slots=True)
class OpenPicture:
    """An open file with the indexed content.

    size: bytes to send, up to the end of the picture; mark: an identifier of the content; media_type: of the bytes, None
    if only a conversion may be sent.
    """

    file: io.BufferedReader
    size: int
    mark: str
    media_type: str | None
    version: Version

    def read(self, count: int) -> bytes:
        """Return the next bytes; raises OSError if the file has changed since it was opened."""
        data = self.file.read(count)
        self.check()
        return data

    def check(self) -> None:
        """Raise OSError if the file has changed since it was opened."""
        if _version(self.file) != self.version:
            raise OSError("the file was changed while it was read")


class PictureFiles:
    """Opens picture files; the content of a file is read at first, and again only after a change."""

    def __init__(self) -> None:
        self._contents: OrderedDict[Version, Content] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, info: PictureInfo) -> OpenPicture | None:
        """Open the picture at the stored path; None if it is gone or changed, or is now behind a link."""
        try:
            file = open_real_file(info.path)
        except (OSError, ValueError):
            return None
        try:
            status = os.fstat(file.fileno())
            version, content = _version(file), None
            if (status.st_size, stored_time(status)) == (info.size, info.mtime_ns):
                content = self._content(file, version, info)
            if content is None or content.hash != info.hash or _version(file) != version:
                raise OSError("another content")
            file.seek(0)
        except Exception:  # Pillow's readers raise nearly anything on a damaged file
            file.close()
            return None
        media_type = (SHOWN | PLAYED).get(content.format) if content.end is not None else None
        return OpenPicture(file, content.end or 0, f'"{content.hash[:32]}"', media_type, version)

    def _content(self, file: io.BufferedReader, version: Version, info: PictureInfo) -> Content:
        with self._lock:
            if version in self._contents:
                self._contents.move_to_end(version)
                return self._contents[version]
        content = _read_content(file) if info.second is None else _read_video(file, info)
        if time.time_ns() - version[-1] > SETTLED_NS and _version(file) == version:
            with self._lock:
                self._contents[version] = content
                if len(self._contents) > REMEMBERED:
                    self._contents.popitem(last=False)
        return content


def as_jpeg(picture: OpenPicture, decoders: DecoderPool) -> bytes | None:
    """Convert the upright picture to a JPEG of bounded size; None if it is damaged or changes meanwhile."""
    try:
        with picture.file as file:
            data = file.read(FILE_BYTES)
            picture.check()
        return decoders.decode(data, DecodeRequest(jpeg=JpegRequest(SIDE, QUALITY))).jpeg
    except (OSError, BrokenPicture):
        return None


def _read_content(file: io.BufferedReader) -> Content:
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    with open_image(file) as image:
        format = (image.format or "").lower()
    return Content(digest, format, picture_end(file, format))


def _read_video(file: io.BufferedReader, info: PictureInfo) -> Content:
    small = info.size <= HASHED_BYTES
    digest = hashlib.file_digest(file, "sha256").hexdigest() if small else info.hash
    return Content(digest, info.format, info.size)


def _version(file: io.BufferedReader) -> Version:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
