"""Limits that are checked before decoding: scans, segments, memory; and real peaks of memory below the bound."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.images import decode_upright, open_image, readable_formats
from lingvis.data.picture_limits import (
    DECODED_BYTES,
    PIXELS,
    SCANS,
    SEGMENTS,
    PictureLimitError,
    check_jpeg,
    decoding_bytes,
)
from studies.siege.costly import deep_png, large_webp, many_scans, narrow_png

SIDE = (3000, 2000)


def jpeg(picture: Image.Image, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", **options)
    return out.getvalue()


def rejected(data: bytes) -> str:
    """The reason; opening and decoding together take less than a second."""
    start = time.monotonic()
    with pytest.raises(PictureLimitError) as error, open_image(io.BytesIO(data)) as image:
        decode_upright(image, 0.01)
    assert time.monotonic() - start < 1
    return str(error.value)


@pytest.mark.parametrize("scans", [SCANS + 1, 5000])
def test_a_jpeg_of_many_scans_is_rejected_at_once(scans: int) -> None:
    assert "more than 100 scans" in rejected(many_scans(scans))


def test_large_pictures_may_have_fewer_scans() -> None:
    data = many_scans(90, (800, 800))
    assert check_jpeg(data)
    frame = data.index(b"\xff\xc2") + 5
    large = data[:frame] + (13_000).to_bytes(2, "big") * 2 + data[frame + 4 :]
    assert "more than 17 scans of 169,000,000 pixels" in rejected(large)


@pytest.mark.parametrize("progressive", [False, True])
def test_ordinary_jpegs_pass_with_anything_around_their_pixels(progressive: bool) -> None:
    data = jpeg(
        Image.effect_noise((64, 64), 90).convert("RGB"), progressive=progressive, comment=b"\xff\xda" * 500
    )
    assert check_jpeg(data) is progressive
    film = data + b"\xff\xda" * 1000  # phones append films
    with open_image(io.BytesIO(film)) as image:
        assert decode_upright(image).size == (64, 64)


def test_scans_behind_odd_markers_are_counted() -> None:
    data = many_scans(SCANS + 1, (64, 64))
    first = data.index(b"\xff\xda")
    for odd in (b"\xff\xff\xff", b"\xff\x01", b"\xff\x02\xff\xff", b"\xff\xd3\xff\xff", b"\xff\xfe\x00\x02"):
        with pytest.raises(PictureLimitError, match="scans"):
            check_jpeg(data[:first] + odd + data[first:])


def test_time_is_linear_and_segments_are_bounded() -> None:
    for filler in (b"\xff", b"\xff\x00", b"\xff\xd0", b"\x00"):
        start = time.monotonic()
        assert not check_jpeg(b"\xff\xd8\xff" + filler * (20_000_000 // len(filler)))
        assert time.monotonic() - start < 3, filler
    comments = b"\xff\xd8\xff" + b"\xff\xfe\x00\x02" * (SEGMENTS + 1)
    assert "10,000 segments" in rejected(comments)
    assert "bytes before its pixels" in rejected(
        b"\xff\xd8" + (b"\xff\xfe\xff\xff" + bytes(65533)) * 1025 + many_scans(6, (8, 8))[2:]
    )


def test_memory_is_bounded_by_format() -> None:
    assert "1,536 MB of memory" in rejected(large_webp(8000))
    assert "of memory" in rejected(narrow_png(30_000_000))
    with open_image(io.BytesIO(large_webp(6500))):
        pass
    few = open_image(io.BytesIO(deep_png(40)), pixels=1000)
    with pytest.raises(PictureLimitError, match="at most 1,000 are decoded"), few:
        pass


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_photographs_of_a_hundred_megapixels_are_decoded() -> None:
    """A JPEG is decoded reduced; a panorama and a PNG of this size need less than the limit."""
    plain = jpeg(Image.new("RGB", (16, 16), "red"))
    frame = plain.index(b"\xff\xc0") + 5
    for width, height in ((12_000, 9_000), (40_000, 4_000)):
        large = plain[:frame] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + plain[frame + 4 :]
        with open_image(io.BytesIO(large)) as image:
            assert image.size == (width, height)
            assert decoding_bytes(image, image.size) < DECODED_BYTES + COPY_OF_PANORAMA
            image.draft(None, (width // 8, height // 8))
            assert decoding_bytes(image, (width, height)) < DECODED_BYTES / 10
    whole = Image.new("L", (1, 1)).resize((12_000, 9_000))
    with io.BytesIO() as out:
        whole.save(out, "PNG", compress_level=1)
        with open_image(out) as image:
            assert decoding_bytes(image, image.size) < DECODED_BYTES
    assert PIXELS * 5 < DECODED_BYTES  # a scanned page in grey


COPY_OF_PANORAMA = 300_000_000
MEASURE = """
import io, sys
from lingvis.data.images import decode_upright, encode_jpeg, open_image
from lingvis.data.picture_limits import decoding_bytes
def peak():  # of memory; getrusage would start with that of the process before
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
data = open(sys.argv[1], "rb").read()
with open_image(io.BytesIO(data)) as image:
    bound = decoding_bytes(image, image.size)
    before = peak()
    encode_jpeg(decode_upright(image), 320, quality=80)
print(peak() - before, bound)
"""


def noise(mode: str) -> Image.Image:
    picture = Image.effect_noise((60, 40), 90).resize(SIDE).convert("RGB")
    if mode == "RGBA":
        picture.putalpha(Image.linear_gradient("L").resize(SIDE))
    return picture if picture.mode == mode else picture.convert(mode)


def arrays(kind: type) -> Image.Image:
    return Image.fromarray(np.full((SIDE[1], SIDE[0]), 1000, kind))


TURNED = Image.Exif()
TURNED[0x0112] = 6
WHOLE: dict[str, Any] = {"compression": "tiff_lzw", "strip_size": 10**9}
PEAKS = {
    "turned.png": lambda path: noise("RGB").save(path, compress_level=1, exif=TURNED),
    "clear.png": lambda path: noise("RGBA").save(path, compress_level=1),
    "palette.png": lambda path: noise("P").save(path, compress_level=1, transparency=3),
    "deep.png": lambda path: arrays(np.uint16).save(path, compress_level=1),
    "lossy.webp": lambda path: noise("RGBA").save(path, method=0),
    "lossless.webp": lambda path: noise("RGBA").save(path, method=0, lossless=True, exif=TURNED),
    "film.webp": lambda path: noise("RGB").save(path, method=0, save_all=True, append_images=[noise("L")]),
    "film.gif": lambda path: noise("P").save(path, save_all=True, append_images=[noise("L")]),
    "a.bmp": lambda path: noise("RGB").save(path),
    "whole.tiff": lambda path: noise("RGBA").save(path, **WHOLE),
    "float.tiff": lambda path: arrays(np.float32).save(path, **WHOLE),
    "cmyk.tiff": lambda path: noise("CMYK").save(path, **WHOLE),
    "plain.jpg": lambda path: noise("RGB").save(path, exif=TURNED),
    "progressive.jpg": lambda path: noise("RGB").save(path, progressive=True, subsampling=0, exif=TURNED),
    "cmyk.jpg": lambda path: noise("CMYK").save(path, progressive=True),
    "a.heic": lambda path: noise("RGBA").save(path),
    "a.avif": lambda path: noise("RGBA").save(path, speed=10, subsampling="4:4:4", exif=TURNED),
}


@pytest.mark.parametrize("name", PEAKS)
def test_real_peaks_stay_below_the_bound(name: str, tmp_path: Path) -> None:
    readable_formats()
    kind = {"heic": "HEIF", "avif": "AVIF"}.get(name.rpartition(".")[2], "PNG")
    if kind not in Image.SAVE:
        pytest.skip(f"this Pillow cannot write {kind}")
    PEAKS[name](tmp_path / name)
    command = [sys.executable, "-c", MEASURE, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, bound = map(int, done.stdout.split())
    assert 0.4 * bound < peak < bound + 6_000_000, (peak / 6e6, bound / 6e6)
