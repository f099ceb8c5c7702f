"""Small files that would need hours or gigabytes to decode."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image


def many_scans(scans: int, size: tuple[int, int] = (2000, 2000)) -> bytes:
    """A progressive JPEG whose last scan of a few bytes is repeated; Pillow decodes it, one pass per scan."""
    out = io.BytesIO()
    Image.new("L", size, 128).save(out, "JPEG", progressive=True)
    data = out.getvalue()
    last, end = data.rindex(b"\xff\xda"), data.rindex(b"\xff\xd9")
    return data[:last] + data[last:end] * (scans - data.count(b"\xff\xda") + 1) + data[end:]


def large_webp(side: int) -> bytes:
    """One colour, lossless: side x side pixels in 36 bytes."""
    out = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(out, "WEBP", lossless=True, method=0)
    data = bytearray(out.getvalue())
    assert data[12:16] == b"VP8L"
    data[21:25] = struct.pack("<I", (side - 1) | (side - 1) << 14)
    return bytes(data)


def deep_png(side: int) -> bytes:
    """A PNG of 16-bit grey."""
    out = io.BytesIO()
    Image.fromarray(np.zeros((side, side), np.uint16)).save(out, "PNG", compress_level=1)
    return out.getvalue()


def deep_colour_png(side: int) -> bytes:
    """A PNG of four channels with 16 bits each."""
    packer = zlib.compressobj(9)
    row = bytes(1 + 8 * side)
    pixels = b"".join([*(packer.compress(row) for _ in range(side)), packer.flush()])
    return _png(side, side, bits=16, colour=6, pixels=pixels)


def narrow_png(height: int) -> bytes:
    """A PNG with one pixel per row: its table of rows is larger than its pixels."""
    return _png(1, height, bits=8, colour=0, pixels=zlib.compress(bytes(2 * height), 1))


def _png(width: int, height: int, *, bits: int, colour: int, pixels: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
