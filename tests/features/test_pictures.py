"""Decoding: orientation, colour modes, boxes, crops, and files that are no pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.data.images import ORIENTATION_TAG
from lingvis.features.pictures import BrokenPicture, DecodedPicture, decode
from lingvis.features.preprocessing import Preprocessing

HALF = (0.5, 0.5, 0.5)
SQUASH = Preprocessing(16, HALF, HALF)
CROP = Preprocessing(16, HALF, HALF, fit="crop")


def quarters(width: int = 64, height: int = 64) -> Image.Image:
    """Red, green / blue, white quarters."""
    image = Image.new("RGB", (width, height))
    w, h = width // 2, height // 2
    for place, colour in (((0, 0), "red"), ((w, 0), "lime"), ((0, h), "blue"), ((w, h), "white")):
        image.paste(Image.new("RGB", (w, h), colour), place)
    return image


def whole(path: Path, preprocessing: Preprocessing = SQUASH) -> DecodedPicture:
    return decode(path, [], preprocessing, crops=False)


def close(pixel: np.ndarray, colour: tuple[int, int, int], tolerance: int = 12) -> bool:
    return bool((np.abs(pixel.astype(int) - colour) <= tolerance).all())


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_honoured(orientation: int, tmp_path: Path) -> None:
    """The stored picture is turned so that, shown upright, it always has a red top left and a wide shape."""
    upright = quarters(64, 32)
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    stored.save(tmp_path / "a.jpg", exif=exif, quality=95, subsampling=0)
    decoded = decode(tmp_path / "a.jpg", [(32, 0, 64, 16)], SQUASH, crops=True)
    assert close(decoded.pixels[0, 8, 8], (0, 255, 0))  # the top right quarter of the upright picture
    assert decoded.fractions.tolist() == [[0.5, 0.0, 1.0, 0.5]]
    shown = whole(tmp_path / "a.jpg").pixels[0]
    assert close(shown[2, 2], (255, 0, 0))
    assert close(shown[13, 2], (0, 0, 255))


def test_big_jpegs_are_read_at_reduced_size_and_look_the_same(
    tmp_path: Path, draw: Callable[..., Image.Image]
) -> None:
    image = draw(3, 640, 480)
    image.save(tmp_path / "a.jpg", quality=95)
    image.save(tmp_path / "a.png")
    reduced = whole(tmp_path / "a.jpg").pixels.astype(int)
    exact = whole(tmp_path / "a.png").pixels.astype(int)
    assert np.abs(reduced - exact).mean() < 2
    assert decode(tmp_path / "a.jpg", [], SQUASH, crops=False).boxes.tolist() == [[0, 0, 640, 480]]


def test_a_small_box_of_a_big_jpeg_keeps_its_detail(tmp_path: Path) -> None:
    """Stripes of four pixels inside the box would be lost if all were read at an eighth of the size."""
    pixels = np.zeros((512, 512, 3), dtype=np.uint8)
    pixels[:, ::8] = pixels[:, 1::8] = pixels[:, 2::8] = pixels[:, 3::8] = 255
    Image.fromarray(pixels).save(tmp_path / "a.jpg", quality=95)
    crop = decode(tmp_path / "a.jpg", [(64, 64, 80, 80)], SQUASH, crops=True).pixels[0]
    assert int(crop.max()) - int(crop.min()) > 200


@pytest.mark.parametrize("mode", ["L", "P", "1", "CMYK", "RGBA", "LA", "PA", "I;16", "I"])
def test_every_mode_becomes_rgb(mode: str, tmp_path: Path) -> None:
    """A picture that is bright on the left and dark on the right, in every way to store it."""
    grey = np.zeros((32, 32), dtype=np.uint8)
    grey[:, :16] = 255
    if mode in ("I;16", "I"):
        image = Image.fromarray(grey.astype(np.uint16) * 257)
        image = image.convert("I") if mode == "I" else image
    elif mode == "PA":
        image = Image.fromarray(grey).convert("P").convert("PA")
    else:
        image = Image.fromarray(grey).convert("RGB").convert(mode)
    file = tmp_path / ("a.tif" if mode in ("CMYK", "I", "PA") else "a.png")
    (image.convert("LA") if mode == "PA" else image).save(file)
    shown = whole(file).pixels[0]
    assert shown.shape == (16, 16, 3)
    assert close(shown[8, 2], (255, 255, 255))
    assert close(shown[8, 13], (0, 0, 0))


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((255, 0, 0, 255), (0, 0, 4, 8))
    image.save(tmp_path / "a.png")
    image.convert("P").save(tmp_path / "b.png", transparency=image.convert("P").getpixel((7, 7)))
    for name in ("a.png", "b.png"):
        shown = whole(tmp_path / name, Preprocessing(8, HALF, HALF)).pixels[0]
        assert close(shown[4, 1], (255, 0, 0))
        assert close(shown[4, 6], (255, 255, 255))


def test_squash_shows_all_and_crop_the_middle(tmp_path: Path) -> None:
    """A white square between a red and a blue one."""
    image = Image.new("RGB", (96, 32), "white")
    image.paste("red", (0, 0, 32, 32))
    image.paste("blue", (64, 0, 96, 32))
    image.save(tmp_path / "a.png")
    squashed = whole(tmp_path / "a.png").pixels[0]
    assert close(squashed[8, 1], (255, 0, 0))
    assert close(squashed[8, 14], (0, 0, 255))
    cropped = whole(tmp_path / "a.png", CROP).pixels[0]
    assert cropped[:, 1:15].min() > 230
    kept = Preprocessing(16, HALF, HALF, keep=0.25)  # the middle quarter of either side
    assert whole(tmp_path / "a.png", kept).pixels.min() > 230


def test_boxes_are_clipped_and_boxes_outside_refused(tmp_path: Path) -> None:
    quarters().save(tmp_path / "a.png")
    decoded = decode(tmp_path / "a.png", [(-5, 32, 32, 99), (0, 0, 0.25, 0.25)], SQUASH, crops=True)
    assert decoded.boxes.tolist() == [[0, 32, 32, 64], [0, 0, 0.25, 0.25]]
    assert close(decoded.pixels[0, 8, 4], (0, 0, 255))
    assert decoded.pixels.shape == (2, 16, 16, 3)
    with pytest.raises(BrokenPicture, match=r"box \[64, 0, 70, 9\] is outside the picture of 64x64"):
        decode(tmp_path / "a.png", [(64, 0, 70, 9)], SQUASH, crops=False)


def test_broken_files_say_why(tmp_path: Path, draw: Callable[..., Image.Image]) -> None:
    draw(0, 200, 200).save(tmp_path / "cut.jpg", quality=95)
    data = (tmp_path / "cut.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    draw(0, 200, 200).save(tmp_path / "cut.png")
    data = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.jpg").write_text("not a picture")
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    reasons = {
        "cut.jpg": "truncated",
        "empty.jpg": "empty",
        "text.jpg": "not a picture",
        "gone.jpg": "no such",
    }
    reasons |= {"cut.png": "truncated", "bomb.png": "more than 178,956,970 pixels"}
    for name, reason in reasons.items():
        with pytest.raises(BrokenPicture, match=reason):
            whole(tmp_path / name)
