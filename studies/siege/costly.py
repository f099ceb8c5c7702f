"""Pictures of a few kilobytes that are costly to decode."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image

SCANS = 5000


def many_scans() -> bytes:
    """A progressive JPEG whose last scan is repeated thousands of times."""
    out = io.BytesIO()
    Image.new("RGB", (4000, 4000), "grey").save(out, "JPEG", progressive=True, quality=30)
    data = out.getvalue()
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * min(SCANS, 2_000_000 // len(data[last:-2])) + b"\xff\xd9"


def large_webp() -> bytes:
    """A picture of one colour, just below the limit of pixels."""
    out = io.BytesIO()
    Image.new("RGBA", (7900, 7900), (9, 9, 9, 200)).save(out, "WEBP", lossless=True, method=0)
    return out.getvalue()


def deep_png() -> bytes:
    """16 bits per channel and four channels, just below the limit of pixels."""
    side = 7900
    packer = zlib.compressobj(9)
    row = bytes(1 + 8 * side)
    pixels = b"".join([*(packer.compress(row) for _ in range(side)), packer.flush()])

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 16, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
