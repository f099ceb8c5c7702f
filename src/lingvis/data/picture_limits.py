"""Limits on pictures, checked before their pixels are decoded: a small file may need hours or gigabytes."""

from __future__ import annotations

import re

from PIL import Image

FILE_BYTES = 2**30
PIXELS = 178_956_970  # Pillow rejects more by default
DECODED_BYTES = 2**30  # at most this much memory for decoding one picture
SCANS = 100  # of a JPEG; progressive ones have about 10
SCANNED_PIXELS = 3_000_000_000  # scans times pixels; each scan passes over all pixels
SEGMENTS = 10_000  # of a JPEG: tables, metadata and scans
METADATA_BYTES = 2**26  # of a JPEG before its first scan; Pillow has the same limit for PNG
JPEG_START = b"\xff\xd8\xff"
# Entropy-coded data has FF only before 00 and before restart markers (D0 to D7).
MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
STANDALONE = frozenset(range(0x01, 0xC0)) | {0xD8}  # markers without a length; libjpeg skips or rejects them
BYTES_OF_MODE = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}  # all other modes: 4
# Peaks of memory per pixel until the picture is loaded, in formats whose libraries decode it as a whole; see
# tests/data/test_picture_limits.py.
BYTES_OF_FORMAT = {"WEBP": 20, "AVIF": 20, "HEIF": 16}
COPY = 4  # bytes per pixel of an RGB copy, to turn or convert the picture
ROW = 32  # bytes per row or column of a picture and of its copy, in Pillow's tables of rows
COMPRESSION, SAMPLES, BITS, STRIP_ROWS, TILE_WIDTH, TILE_HEIGHT = 259, 277, 258, 278, 322, 323  # tags of TIFF


class PictureLimitError(ValueError):
    """A picture beyond a limit; the message is the reason."""


def check_jpeg(data: bytes | memoryview) -> bool:
    """Raise if a JPEG has too many scans, segments or metadata; returns whether its decoder buffers the whole picture.

    It reads the markers up to the end of the first picture; time is linear in the size of the data.
    """
    scans = segments = components = pixels = position = 0
    progressive = partial = False
    while (marker := MARKER.search(data, position)) is not None and marker[1][0] != END_OF_IMAGE:
        code, position = marker[1][0], marker.end()
        segments += 1
        if segments > SEGMENTS:
            raise PictureLimitError(
                f"it has more than {SEGMENTS:,} segments; save it again as an ordinary JPEG"
            )
        if code in STANDALONE:
            continue
        if code in FRAMES:
            progressive = progressive or code & 3 == 2
            height, width = (int.from_bytes(data[position + at : position + at + 2], "big") for at in (3, 5))
            pixels = max(pixels, width * height)
            components = data[position + 7] if position + 7 < len(data) else 0
        elif code == START_OF_SCAN:
            if not scans and position > METADATA_BYTES:
                raise PictureLimitError(
                    f"it has {position:,} bytes before its pixels; at most {METADATA_BYTES:,} are read, so remove metadata"
                )
            scans += 1
            most = min(SCANS, SCANNED_PIXELS // max(1, pixels))
            if scans > most:
                raise PictureLimitError(
                    f"it has more than {most} scans of {pixels:,} pixels, which take too long to decode; save it again "
                    "as an ordinary JPEG"
                )
            partial = partial or (position + 2 < len(data) and data[position + 2] < components)
        position += int.from_bytes(data[position : position + 2], "big")
    return progressive or partial


def check_pixels(image: Image.Image, most: int = PIXELS) -> None:
    """Raise if an opened picture has more than `most` pixels."""
    if image.width * image.height > most:
        raise PictureLimitError(
            f"it has {image.width * image.height:,} pixels; at most {most:,} are decoded, so make it smaller"
        )


def check_memory(image: Image.Image, full: tuple[int, int]) -> None:
    """Raise if decoding an opened picture needs too much memory; full: its size before a reduced decoding was chosen."""
    needed = decoding_bytes(image, full)
    if needed > DECODED_BYTES:
        raise PictureLimitError(
            f"decoding it needs {needed // 10**6:,} MB of memory; at most {DECODED_BYTES // 10**6:,} MB are used, "
            "so make it smaller or save it as JPEG"
        )


def decoding_bytes(image: Image.Image, full: tuple[int, int]) -> int:
    """Return an upper bound of the memory that decoding to upright RGB needs."""
    pixels = image.width * image.height
    per_pixel = BYTES_OF_FORMAT.get(image.format or "", BYTES_OF_MODE.get(image.mode, 4))
    extra = 0
    if image.format in ("JPEG", "MPO") and "progressive" in image.info:
        extra = 2 * len(image.getbands()) * full[0] * full[1]  # coefficients
    elif image.format == "TIFF":
        extra = _strip_bytes(image)
    return pixels * (per_pixel + COPY) + extra + ROW * sum(image.size)


def _strip_bytes(image: Image.Image) -> int:
    """Return the bytes of a strip or tile of a TIFF, which is decompressed as a whole."""
    tags = image.tag_v2  # type: ignore[attr-defined]
    if tags.get(COMPRESSION, 1) == 1:
        return 0
    bits = tags.get(BITS, (1,))
    bytes_per_pixel = max(1, int(tags.get(SAMPLES, 1)) * max(bits) // 8)
    strip = image.width * min(image.height, int(tags.get(STRIP_ROWS, image.height)))
    tile = int(tags.get(TILE_WIDTH, 0)) * int(tags.get(TILE_HEIGHT, 0))
    return int(max(strip, tile) * bytes_per_pixel)
