"""Facts of cameras: dates, names and positions, also impossible ones; sizes of thumbnails; signatures."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from lingvis.data.images import encode_jpeg, jpeg_scale
from lingvis.data.signature import BYTES, signature
from lingvis.features.decoding.exif import CameraFacts, camera_name, read_facts


def facts_of(main: dict[int, Any]) -> CameraFacts:
    """What is read from a JPEG file with these values."""
    exif = Image.Exif()
    exif.update(main)
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG", exif=exif)
    with Image.open(out) as image:
        return read_facts(image)


def test_date_camera_and_position() -> None:
    gps = {1: "N", 2: (48.0, 51.0, 29.6), 3: "W", 4: (2.0, 17.0, 40.2)}
    camera = {
        0x010F: "Canon\0\0",
        0x0110: "Canon EOS 5D",
        0x8769: {0x9003: "2019:07:21 13:14:15"},
        0x8825: gps,
    }
    assert facts_of(camera) == CameraFacts(
        datetime(2019, 7, 21, 13, 14, 15), "Canon EOS 5D", 48.858222, -2.2945
    )
    assert facts_of({}) == CameraFacts()


@pytest.mark.parametrize(
    "gps",
    [
        {1: "N", 2: (48.0, 51.0, 29.6)},  # half a position
        {1: "N", 2: (95.0, 0.0, 0.0), 3: "E", 4: (1.0, 0.0, 0.0)},
        {1: "N", 2: (1.0, 0.0, 0.0), 3: "E", 4: (1.0, 0.0, IFDRational(0, 0))},
        {1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)},  # no fix yet
    ],
)
def test_impossible_positions_are_none(gps: dict[int, Any]) -> None:
    assert facts_of({0x8825: gps}).latitude is None and facts_of({0x8825: gps}).longitude is None


def test_names_of_cameras() -> None:
    assert camera_name("SONY", "ILCE-7M3") == "SONY ILCE-7M3"
    assert camera_name("NIKON CORPORATION", "NIKON D90") == "NIKON D90"
    assert camera_name("Apple", None) == "Apple"
    assert camera_name("a\x1b[31m\n", 5) == "a[31m"
    assert camera_name(None, "x" * 500) == "x" * 80
    assert camera_name("", " ") is None


@pytest.mark.parametrize(
    ("size", "small"),
    [
        ((4000, 3000), (320, 240)),
        ((3000, 3000), (320, 320)),
        ((6000, 1000), (1200, 200)),  # a panorama of at most five times the shorter side
        ((4000, 1000), (960, 240)),
        ((1000, 4000), (240, 960)),
        ((100, 20), (100, 20)),  # never larger than the picture
    ],
)
def test_the_shorter_side_of_a_thumbnail_decides(size: tuple[int, int], small: tuple[int, int]) -> None:
    made = encode_jpeg(Image.new("RGB", size), 320, quality=80, short_side=240)
    assert Image.open(io.BytesIO(made)).size == small
    assert jpeg_scale(size, 320) == min(1, 320 / max(size))


def test_signatures_of_copies_are_near_and_of_others_far() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((300, 200), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    picture.resize((150, 100)).save(out, "JPEG", quality=60)
    other = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)

    def values(image: Image.Image) -> np.ndarray[Any, np.dtype[np.int16]]:
        made = signature(image.convert("RGB"))
        assert len(made) == BYTES
        return np.frombuffer(made, np.uint8).astype(np.int16)

    assert np.abs(values(picture) - values(Image.open(out))).mean() < 3
    assert np.abs(values(picture) - values(other)).mean() > 13
