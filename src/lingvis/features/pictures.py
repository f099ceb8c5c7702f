"""Files -> upright RGB pixels of the size a backbone wants."""

from __future__ import annotations

import math
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from lingvis.data.images import open_image
from lingvis.data.rows import Box
from lingvis.features.backbones.contract import Preprocessing

ORIENTATION_TAG = 0x0112
RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
# Pillow calls the result of a first cheap reduction indistinguishable when it leaves three times the size.
REDUCING_GAP = 3.0


class BrokenPicture(Exception):
    """A picture that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The views of one picture.

    pixels: uint8 [views, size, size, 3]; boxes: float32 [regions, 4] in pixels of the upright picture, clipped
    to it; fractions: the same as shares of its width and height.
    """

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    fractions: NDArray[np.float64]


def decode(path: Path, boxes: Sequence[Box], preprocessing: Preprocessing, *, crops: bool) -> Decoded:
    """Read a picture and cut it into views: one for each box with `crops`, else one of all of it.

    Boxes are in pixels of the upright picture; without any, the whole picture is the one box.
    """
    try:
        with open_image(path) as image:
            width, height = upright_size(image)
            kept = _clip(boxes or [(0.0, 0.0, width, height)], width, height)
            views = kept if crops else np.array([[0.0, 0.0, width, height]])
            cuts = np.array([cut_of(view, preprocessing) for view in views])
            # A JPEG can be decoded at half, quarter or eighth size: the smallest that still feeds every view.
            scale = min(1.0, preprocessing.size / min(shorter_side(cut) for cut in cuts))
            image.draft(None, (math.ceil(image.width * scale), math.ceil(image.height * scale)))
            ImageOps.exif_transpose(image, in_place=True)
            pixels = to_rgb(image)
            ratio = np.array([pixels.width / width, pixels.height / height] * 2)
            squares = [square_of(pixels, cut * ratio, preprocessing) for cut in cuts]
    except BrokenPicture:
        raise
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        raise BrokenPicture(reason_of(path, error)) from error
    fractions = kept / np.array([width, height, width, height])
    return Decoded(np.stack(squares), kept.astype(np.float32), fractions)


def upright_size(image: Image.Image) -> tuple[int, int]:
    turned = image.getexif().get(ORIENTATION_TAG, 1) in (5, 6, 7, 8)
    return (image.height, image.width) if turned else image.size


def _clip(boxes: Sequence[Box], width: int, height: int) -> NDArray[np.float64]:
    """Boxes limited to the picture; one that lies outside of it is an error."""
    clipped = np.clip(np.array(boxes, dtype=np.float64), 0.0, [width, height, width, height])
    for given, box in zip(boxes, clipped, strict=True):
        if box[0] >= box[2] or box[1] >= box[3]:
            raise BrokenPicture(f"its box {list(given)} lies outside the picture of {width}x{height} pixels")
    return clipped


def cut_of(view: NDArray[np.float64], preprocessing: Preprocessing) -> NDArray[np.float64]:
    """The part of a view that fills the square, in the picture's pixels."""
    centre = np.array([view[0] + view[2], view[1] + view[3]]) / 2
    sides = view[2:] - view[:2]
    if preprocessing.fit == "crop":
        sides = np.full(2, sides.min())
    half = sides * preprocessing.keep / 2
    return np.concatenate([centre - half, centre + half])


def shorter_side(cut: NDArray[np.float64]) -> float:
    return float(min(cut[2] - cut[0], cut[3] - cut[1]))


def to_rgb(image: Image.Image) -> Image.Image:
    """8-bit RGB: 16-bit grey is scaled, transparency is laid on white."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        grey = np.clip(np.asarray(image).astype(np.int64) >> 8, 0, 255).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if image.has_transparency_data:
        ground = Image.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        return ground.convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def square_of(
    image: Image.Image, cut: NDArray[np.float64], preprocessing: Preprocessing
) -> NDArray[np.uint8]:
    """Scale the cut to uint8 [size, size, 3]."""
    side = (preprocessing.size, preprocessing.size)
    x0, y0, x1, y1 = np.clip(cut, 0.0, [image.width, image.height] * 2).tolist()
    resample = RESAMPLING[preprocessing.interpolation]
    if image.size == side and (x0, y0, x1, y1) == (0.0, 0.0, *side):
        return np.asarray(image)
    return np.asarray(image.resize(side, resample, box=(x0, y0, x1, y1), reducing_gap=REDUCING_GAP))


def reason_of(path: Path, error: Exception) -> str:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "there is no such file"
    except OSError as unseen:
        return unseen.strerror or str(unseen)
    if not stat.S_ISREG(status.st_mode):
        return "there is no such file"
    if status.st_size == 0:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "the file is not a picture of a known format"
    return str(error) or type(error).__name__
