"""Picture files -> square views of the size that a backbone takes."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from lingvis.data.images import UNKNOWN_FORMAT, decode_upright, open_image, upright_size
from lingvis.data.picture_limits import PictureLimitError
from lingvis.features.preprocessing import Preprocessing
from lingvis.printing import printable

if TYPE_CHECKING:
    from lingvis.data.rows import Box

RESAMPLING = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
# According to Pillow, a first cheap reduction to three times the size makes no visible difference.
REDUCING_GAP = 3.0


class BrokenPicture(Exception):
    """A picture that cannot be used; the message is the reason."""


class UnknownFormat(BrokenPicture):
    """A file that is not a picture."""


class CostlyPicture(BrokenPicture):
    """A picture that needs more time or memory than is allowed."""


BROKEN = {kind.__name__: kind for kind in (BrokenPicture, UnknownFormat, CostlyPicture)}


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    """The views of one picture.

    pixels: uint8 [views, size, size, 3]; boxes: float32 [regions, 4] in pixels of the upright picture, clipped
    to it; fractions: the same as shares of its width and height; preprocessing: the views are made for it. seconds: of
    each view, if they are frames of a video.
    """

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    fractions: NDArray[np.float64]
    preprocessing: Preprocessing
    seconds: NDArray[np.float32] | None = None


def decode(
    source: Path | BinaryIO, boxes: Sequence[Box], preprocessing: Preprocessing, *, crops: bool
) -> DecodedPicture:
    """Read a picture and cut it into views: one per box with `crops`, otherwise one of the whole picture.

    Boxes are in pixels of the upright picture; without any, the whole picture is the one box.
    """
    try:
        with open_image(source) as image:
            return cut_views(image, boxes, preprocessing, crops=crops)[0]
    except BrokenPicture:
        raise
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        raise broken_picture(error, source if isinstance(source, Path) else None) from error


def cut_views(
    image: Image.Image, boxes: Sequence[Box], preprocessing: Preprocessing, *, crops: bool
) -> tuple[DecodedPicture, Image.Image]:
    """Decode an opened picture as small as its views allow; returns the views and the upright pixels they are cut from."""
    width, height = upright_size(image)
    kept = _clip(boxes or [(0.0, 0.0, width, height)], width, height)
    views = kept if crops else np.array([[0.0, 0.0, width, height]])
    cuts = np.array([_cut_of(view, preprocessing) for view in views])
    pixels = decode_upright(image, min(1.0, preprocessing.size / min(_shorter_side(cut) for cut in cuts)))
    ratio = np.array([pixels.width / width, pixels.height / height] * 2)
    squares = [_square_of(pixels, cut * ratio, preprocessing) for cut in cuts]
    fractions = kept / np.array([width, height, width, height])
    return DecodedPicture(np.stack(squares), kept.astype(np.float32), fractions, preprocessing), pixels


def _clip(boxes: Sequence[Box], width: int, height: int) -> NDArray[np.float64]:
    """Clip boxes to the picture; raises BrokenPicture for a box outside it."""
    clipped = np.clip(np.array(boxes, dtype=np.float64), 0.0, [width, height, width, height])
    for given, box in zip(boxes, clipped, strict=True):
        if box[0] >= box[2] or box[1] >= box[3]:
            raise BrokenPicture(f"its box {list(given)} is outside the picture of {width}x{height} pixels")
    return clipped


def _cut_of(view: NDArray[np.float64], preprocessing: Preprocessing) -> NDArray[np.float64]:
    """Return the part of a view that fills the square, in the picture's pixels."""
    centre = np.array([view[0] + view[2], view[1] + view[3]]) / 2
    sides = view[2:] - view[:2]
    if preprocessing.fit == "crop":
        sides = np.full(2, sides.min())
    half = sides * preprocessing.keep / 2
    return np.concatenate([centre - half, centre + half])


def _shorter_side(cut: NDArray[np.float64]) -> float:
    return float(min(cut[2] - cut[0], cut[3] - cut[1]))


def _square_of(
    image: Image.Image, cut: NDArray[np.float64], preprocessing: Preprocessing
) -> NDArray[np.uint8]:
    """Scale the cut to uint8 [size, size, 3]."""
    side = (preprocessing.size, preprocessing.size)
    x0, y0, x1, y1 = np.clip(cut, 0.0, [image.width, image.height] * 2).tolist()
    resample = RESAMPLING[preprocessing.interpolation]
    if image.size == side and (x0, y0, x1, y1) == (0.0, 0.0, *side):
        return np.asarray(image)
    return np.asarray(image.resize(side, resample, box=(x0, y0, x1, y1), reducing_gap=REDUCING_GAP))


def broken_picture(error: Exception, path: Path | None = None) -> BrokenPicture:
    """Return the reason why a picture cannot be used, in a few words; path: None if it is not a file in a folder."""
    if path is not None:
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return BrokenPicture("there is no such file")
        except OSError as unseen:
            return BrokenPicture(unseen.strerror or str(unseen))
        if not stat.S_ISREG(status.st_mode):
            return BrokenPicture("there is no such file")
        if status.st_size == 0:
            return BrokenPicture("the file is empty")
    if isinstance(error, UnidentifiedImageError):
        return UnknownFormat(UNKNOWN_FORMAT)
    if isinstance(error, PictureLimitError):
        return CostlyPicture(str(error))
    # Libraries end sentences with a newline, and quote bytes of the file.
    return BrokenPicture(printable(str(error).strip()) or type(error).__name__)
