"""The end of a picture in its file: bytes behind it (a film, an archive, anything) are no part of the picture.

A file is read once, from start to end, and in blocks; only headers and lengths are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO

BLOCK = 1024 * 1024
STEPS = 1_000_000  # headers and lengths per file: 250 MB of GIF data, whose parts are the shortest
FILL_BYTES = 64  # before a marker of a JPEG
# In the compressed data of a JPEG, FF is followed by 00, or is a restart marker, or a fill byte.
SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
SOI, EOI, SOS = 0xD8, 0xD9, 0xDA
WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD8)}
BMP_HEADERS, BMP_UNCOMPRESSED = (40, 52, 56, 64, 108, 124), (0, 3, 6)
BMP_START = 14 + 124 + 16 + 4 * 256  # of the pixels, behind headers, masks and colours
PNG, GIF = b"\x89PNG\r\n\x1a\n", (b"GIF87a", b"GIF89a")


def picture_end(file: BinaryIO, format: str) -> int | None:
    """Return the number of bytes from the start of the file to the end of its (first) picture.

    None: the picture is cut off or malformed, or the format is not one of ENDS. The position in the file changes.
    """
    find = ENDS.get(format)
    if find is None:
        return None
    size = file.seek(0, 2)
    file.seek(0)
    try:
        end = find(Cursor(file))
    except (EOFError, ValueError):
        return None
    return end if end <= size else None


class Cursor:
    """Reads a file forwards; raises EOFError at its end, and ValueError after STEPS steps."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._block, self._start, self._next = (
            b"",
            0,
            0,
        )  # a part of the file, its position, the next byte in it
        self._steps = 0

    @property
    def position(self) -> int:
        """The position in the file."""
        return self._start + self._next

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self._steps += 1
        if self._steps > STEPS:
            raise ValueError("too many parts")
        while len(self._block) - self._next < count:
            self._read_on()
        data = self._block[self._next : self._next + count]
        self._next += count
        return data

    def number(self, count: int, order: str = "big") -> int:
        """Return the next bytes as a number without sign."""
        return int.from_bytes(self.take(count), "little" if order == "little" else "big")

    def skip(self, count: int) -> None:
        """Move forwards, maybe beyond the end."""
        beyond = self._next + count - len(self._block)
        if beyond <= 0:
            self._next += count
        else:
            self._start = self._file.seek(beyond, 1)
            self._block, self._next = b"", 0

    def find(self, pattern: re.Pattern[bytes]) -> None:
        """Move forwards to the next match of a pattern of two bytes."""
        while (match := pattern.search(self._block, self._next)) is None:
            self._next = max(self._next, len(self._block) - 1)  # the last byte may be the first of a match
            self._read_on()
        self._next = match.start()

    def _read_on(self) -> None:
        more = self._file.read(BLOCK)
        if not more:
            raise EOFError
        self._block, self._start, self._next = self._block[self._next :] + more, self.position, 0


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("malformed")


def _jpeg(file: Cursor) -> int:
    _require(file.take(2) == bytes((0xFF, SOI)))
    while (marker := _jpeg_marker(file)) != EOI:
        if marker in WITHOUT_LENGTH:
            continue
        length = file.number(2)
        _require(marker not in (0, SOI) and length >= 2)
        file.skip(length - 2)
        if marker == SOS:
            file.find(SCAN_END)
    return file.position


def _jpeg_marker(file: Cursor) -> int:
    _require(file.take(1) == b"\xff")
    for _ in range(FILL_BYTES):
        if (marker := file.number(1)) != 0xFF:
            return marker
    raise ValueError("malformed")


def _png(file: Cursor) -> int:
    _require(file.take(len(PNG)) == PNG)
    kind = b""
    while kind != b"IEND":
        length, kind = file.number(4), file.take(4)
        file.skip(length + 4)  # with its checksum
    return file.position


def _gif(file: Cursor) -> int:
    _require(file.take(6) in GIF)
    _gif_colours(file, flags=file.take(7)[4])
    while (kind := file.take(1)) != b";":
        if kind == b"!":
            file.skip(1)
        else:
            _require(kind == b",")
            _gif_colours(file, flags=file.take(9)[8])
            file.skip(1)
        while length := file.number(1):
            file.skip(length)
    return file.position


def _gif_colours(file: Cursor, flags: int) -> None:
    """Skip a table of colours, if there is one."""
    if flags & 0x80:
        file.skip(3 << (flags % 8 + 1))


def _webp(file: Cursor) -> int:
    _require(file.take(4) == b"RIFF")
    end = file.number(4, "little") + 8
    _require(file.take(4) == b"WEBP")
    while file.position < end:
        file.skip(4)
        length = file.number(4, "little")
        file.skip(length + length % 2)
    _require(file.position == end)
    return end


def _bmp(file: Cursor) -> int:
    _require(file.take(2) == b"BM")
    file.skip(8)  # with the size of the file, which may include anything
    start, header = file.number(4, "little"), file.number(4, "little")
    width, height = file.number(4, "little"), file.number(4, "little")
    file.skip(2)
    depth, compression = file.number(2, "little"), file.number(4, "little")
    _require(header in BMP_HEADERS and start <= BMP_START and compression in BMP_UNCOMPRESSED)
    rows = min(height, 2**32 - height)  # negative: from top to bottom
    return start + (width * depth + 31) // 32 * 4 * rows


ENDS: dict[str, Callable[[Cursor], int]] = {
    "jpeg": _jpeg,
    "mpo": _jpeg,
    "png": _png,
    "gif": _gif,
    "webp": _webp,
    "bmp": _bmp,
}
