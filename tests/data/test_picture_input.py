"""Pictures in memory have the pixels of the file that they came from; anything else gets one sentence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lingvis.data.picture_input import check_pictures, picture_bytes
from lingvis.errors import UserError
from lingvis.features.decoding.content import DecodeRequest, decode_content, decode_file

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def pixels_of(picture: Any) -> Any:
    return decode_file(picture, DecodeRequest(longer_side=7), decode_content).pixels


def test_all_forms_of_a_picture_have_the_same_pixels(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(PIXELS).save(path)
    with path.open("rb") as file:
        forms = [str(path), path, path.read_bytes(), file, io.BytesIO(path.read_bytes()), Image.open(path)]
        forms += [Image.fromarray(PIXELS), PIXELS, PIXELS[:, ::-1][:, ::-1]]
        for form in forms:
            np.testing.assert_array_equal(pixels_of(form), PIXELS)
        np.testing.assert_array_equal(pixels_of(file), PIXELS, "a file that was read before")


def test_grey_transparent_and_turned_pictures() -> None:
    np.testing.assert_array_equal(pixels_of(PIXELS[..., 0]), PIXELS[..., :1].repeat(3, axis=2))
    clear = np.dstack([PIXELS, np.zeros((5, 7), np.uint8)])
    assert (pixels_of(clear) == 255).all(), "transparent parts are white"
    turned = Image.fromarray(np.rot90(PIXELS).copy())
    turned.getexif()[0x0112] = 6  # to be shown after a turn by 90 degrees
    np.testing.assert_array_equal(pixels_of(turned), PIXELS)


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (PIXELS.astype(np.float32) / 255, r"an array float32 \[5, 7, 3\]; give uint8 \[height, width\]"),
        (np.zeros((2, 5, 7, 3), np.uint8), r"an array uint8 \[2, 5, 7, 3\]; give uint8"),
        (np.zeros((0, 7, 3), np.uint8), "an array uint8"),
        (7, "a picture is of type int; give a path, bytes, a file open for reading"),
        (io.StringIO("text"), 'open it with mode "rb"'),
    ],
)
def test_other_values_get_one_sentence(picture: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        picture_bytes(picture)


@pytest.mark.parametrize("single", ["a.jpg", Path("a.jpg"), b"bytes", PIXELS, Image.fromarray(PIXELS)])
def test_a_single_picture_is_no_list(single: Any) -> None:
    with pytest.raises(UserError, match=r"pictures must be a list, got .*; write \[picture\]"):
        check_pictures(single)
    check_pictures([single])
    check_pictures(np.stack([PIXELS, PIXELS]))  # type: ignore[arg-type]
