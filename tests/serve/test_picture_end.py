"""Where pictures end in files of each format, and that finding it takes linear time."""

from __future__ import annotations

import io
from time import perf_counter
from typing import Any

import pytest
from PIL import Image

from lingvis.serve.pictures.picture_end import BLOCK, STEPS, picture_end

NOISE = Image.effect_noise((320, 200), 90).convert("RGB")
FRAMES = [Image.effect_noise((80, 60), 20 * n).convert("RGB") for n in range(1, 5)]
JUNK = b"\xff\xd9\0\0\0\0IEND\xae\x42\x60\x82;PK\x03\x04" * 50  # ends of other pictures


def saved(format: str, image: Image.Image = NOISE, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def thumbnail_inside() -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "\xff\xd9" * 50
    return saved("JPEG", exif=exif, comment=b"\xff\xd9\xff\xd8" * 100, quality=95)


FILES = {
    "jpeg": ("jpeg", saved("JPEG")),
    "jpeg progressive": ("jpeg", saved("JPEG", progressive=True, quality=95)),
    "jpeg with restart markers": ("jpeg", saved("JPEG", restart_marker_blocks=3)),
    "jpeg with ends in its segments": ("jpeg", thumbnail_inside()),
    "jpeg grey": ("jpeg", saved("JPEG", NOISE.convert("L"))),
    "jpeg cmyk": ("jpeg", saved("JPEG", NOISE.convert("CMYK"))),
    "jpeg of several blocks": ("jpeg", saved("JPEG", Image.effect_noise((2000, 1500), 90), quality=99)),
    "png": ("png", saved("PNG")),
    "png of 16 bits": ("png", saved("PNG", Image.new("I;16", (64, 64), 40_000))),
    "apng": ("png", saved("PNG", FRAMES[0], save_all=True, append_images=FRAMES[1:])),
    "gif": ("gif", saved("GIF", NOISE.quantize())),
    "gif animated": (
        "gif",
        saved("GIF", FRAMES[0], save_all=True, append_images=FRAMES[1:], comment=b";" * 600),
    ),
    "webp": ("webp", saved("WEBP")),
    "webp lossless": ("webp", saved("WEBP", lossless=True, exif=b"Exif\0\0;")),
    "webp animated": ("webp", saved("WEBP", FRAMES[0], save_all=True, append_images=FRAMES[1:])),
    "bmp": ("bmp", saved("BMP")),
    "bmp with a palette": ("bmp", saved("BMP", NOISE.quantize())),
}


@pytest.mark.parametrize("name", FILES)
def test_a_picture_ends_where_its_bytes_end_whatever_follows(name: str) -> None:
    format, data = FILES[name]
    assert picture_end(io.BytesIO(data), format) == len(data)
    assert picture_end(io.BytesIO(data + JUNK), format) == len(data)
    assert picture_end(io.BytesIO(data + data), format) == len(data)


@pytest.mark.parametrize("name", FILES)
def test_a_picture_that_is_cut_off_has_no_end(name: str) -> None:
    format, data = FILES[name]
    for length in (0, 1, 5, 20, len(data) // 2, len(data) - 1):
        assert picture_end(io.BytesIO(data[:length]), format) is None


def test_the_first_of_several_pictures_in_a_jpeg_counts() -> None:
    data = saved("MPO", FRAMES[0], save_all=True, append_images=FRAMES[1:])
    end = picture_end(io.BytesIO(data), "mpo")
    assert end is not None and data[end - 2 : end] == b"\xff\xd9" and data[end : end + 2] == b"\xff\xd8"


def test_a_bmp_ends_with_its_pixels_whatever_size_it_states() -> None:
    for mode in ("RGB", "L", "1", "RGBA"):
        data = saved("BMP", NOISE.convert(mode))
        longer = data + b"PK an archive"
        stated = longer[:2] + len(longer).to_bytes(4, "little") + longer[6:]
        assert picture_end(io.BytesIO(stated), "bmp") == len(data), mode
    height = int.from_bytes(data[22:26], "little")
    flipped = data[:22] + (-height).to_bytes(4, "little", signed=True) + data[26:]
    assert picture_end(io.BytesIO(flipped), "bmp") == len(data)
    far = data[:10] + (5000).to_bytes(4, "little") + data[14:] + bytes(5000)  # room before the pixels
    assert picture_end(io.BytesIO(far), "bmp") is None


def test_what_is_no_picture_of_the_format_has_no_end() -> None:
    for format in ("jpeg", "mpo", "png", "gif", "webp", "bmp"):
        for data in (
            b"",
            b"<svg>",
            JUNK,
            *(data for other, data in FILES.values() if other[:1] != format[:1]),
        ):
            if format != "mpo" or data[:2] != b"\xff\xd8":
                assert picture_end(io.BytesIO(data), format) is None
    assert picture_end(io.BytesIO(saved("TIFF")), "tiff") is None


def test_a_marker_between_two_blocks_is_found() -> None:
    head, _, _ = FILES["jpeg"][1].rpartition(b"\xff\xd9")
    for shift in range(-3, 3):
        data = head + b"\x55" * (BLOCK - len(head) + shift) + b"\xff\xd9"
        assert picture_end(io.BytesIO(data + JUNK), "jpeg") == len(data)


SIZE = 20_000_000
JPEG_HEAD = b"\xff\xd8\xff\xda\0\2"
GIF_HEAD = b"GIF89a\1\0\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2"
HOSTILE = {
    "jpeg of stuffed bytes": ("jpeg", JPEG_HEAD + b"\xff\0" * (SIZE // 2)),
    "jpeg of fill bytes": ("jpeg", JPEG_HEAD + b"\xff" * SIZE),
    "jpeg of scans": ("jpeg", JPEG_HEAD + b"\xff\xda\0\2\x55" * (SIZE // 5)),
    "jpeg of empty segments": ("jpeg", b"\xff\xd8" + b"\xff\xe0\0\2" * (SIZE // 4)),
    "jpeg of fill bytes between segments": (
        "jpeg",
        b"\xff\xd8" + (b"\xff" * 60 + b"\xe0\0\2") * (SIZE // 63),
    ),
    "png of empty chunks": ("png", b"\x89PNG\r\n\x1a\n" + b"\0\0\0\0tEXt\0\0\0\0" * (SIZE // 12)),
    "gif of short blocks": ("gif", GIF_HEAD + b"\1\0" * (SIZE // 2)),
    "gif of long blocks": ("gif", GIF_HEAD + (b"\xff" + bytes(255)) * (SIZE // 256)),
    "webp of empty chunks": ("webp", b"RIFF\0\0\0\1WEBP" + b"JUNK\0\0\0\0" * (SIZE // 8)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_20_megabytes_of_anything_take_little_time(name: str) -> None:
    format, data = HOSTILE[name]
    start = perf_counter()
    assert picture_end(io.BytesIO(data), format) is None
    assert (
        perf_counter() - start < 5
    )  # 0.01 to 1 s on two idle cores; reading byte by byte would take minutes
    assert STEPS < SIZE
