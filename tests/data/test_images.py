"""Pictures are opened by what they are, not by what they are called, and decoded in one place."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError

from lingvis.data.images import decode_upright, encode_jpeg, open_image, thumbnail_uri, to_rgb
from lingvis.data.sheet import _tile

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
def test_known_formats_are_opened_from_paths_and_from_files(kind: str, tmp_path: Path) -> None:
    Image.init()
    if kind not in Image.SAVE:
        pytest.skip(f"this Pillow cannot write {kind}")
    path = tmp_path / "named.jpg"
    Image.new("RGB", (3, 2), "red").save(path, kind)
    for source in (path, str(path), io.BytesIO(path.read_bytes())):
        with open_image(source) as image:
            assert (image.format, image.size) == (kind, (3, 2))
            red, green, blue = np.asarray(decode_upright(image))[0, 0].astype(int)
            assert red > 230 and green < 25 and blue < 25


@pytest.mark.parametrize("kind", ["PPM", "ICO", "PCX", "TGA"])
def test_other_formats_are_rejected(kind: str, tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), "red").save(tmp_path / "red.jpg", kind)
    for source in (tmp_path / "red.jpg", io.BytesIO((tmp_path / "red.jpg").read_bytes())):
        with pytest.raises(UnidentifiedImageError), open_image(source):
            pass


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    for path in (tmp_path / "pipe.jpg", Path("/dev/zero")):
        with pytest.raises(OSError, match="it is not a regular file"), open_image(path):
            pass
    (tmp_path / "trap.jpg").write_bytes(EPS)
    with pytest.raises(UnidentifiedImageError), open_image(tmp_path / "trap.jpg"):
        pass


def test_a_jpeg_is_decoded_no_larger_than_needed(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned
    Image.new("RGB", (640, 320), "red").save(tmp_path / "a.jpg", exif=exif)
    sizes = {1.0: (320, 640), 0.6: (320, 640), 0.5: (160, 320), 0.2: (80, 160), 0.01: (40, 80)}
    for scale, size in sizes.items():
        with open_image(tmp_path / "a.jpg") as image:
            assert decode_upright(image, scale).size == size, scale
    with open_image(tmp_path / "a.jpg") as image:
        small = encode_jpeg(decode_upright(image, 100 / 640), 100, quality=80)
    with Image.open(io.BytesIO(small)) as image:
        assert image.size == (50, 100)


def test_transparent_parts_become_white_and_deep_grey_is_scaled() -> None:
    clear = Image.new("RGBA", (1, 1), (255, 0, 0, 0))
    assert to_rgb(clear).getpixel((0, 0)) == (255, 255, 255)
    deep = Image.fromarray(np.full((1, 1), 0x8000, np.uint16))
    assert to_rgb(deep).getpixel((0, 0)) == (128, 128, 128)


def test_a_page_gets_a_small_jpeg_or_nothing(tmp_path: Path) -> None:
    Image.new("RGB", (900, 300), "blue").save(tmp_path / "a.png")
    uri = thumbnail_uri(tmp_path / "a.png")
    assert uri is not None
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        assert (image.format, image.size) == ("JPEG", (200, 67))
    (tmp_path / "trap.jpg").write_bytes(EPS)
    Image.new("RGB", (9, 9)).save(tmp_path / "b.jpg", comment=b"SECRET")
    assert b"SECRET" not in base64.b64decode((thumbnail_uri(tmp_path / "b.jpg") or "").partition(",")[2])
    assert thumbnail_uri(tmp_path / "trap.jpg") is None
    assert thumbnail_uri(tmp_path / "missing.jpg") is None


def test_the_contact_sheet_marks_it_instead_of_starting_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "trap.jpg").write_bytes(EPS)
    tile = _tile(tmp_path / "trap.jpg")
    assert tile.size[0] == tile.size[1]
    assert not (tmp_path / "started").exists()
