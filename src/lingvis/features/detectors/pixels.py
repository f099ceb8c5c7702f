"""Picture files -> upright pixels of the size that a detector takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lingvis.data.images import decode_upright, open_image, upright_size
from lingvis.features.detectors.contract import DetectorPicture
from lingvis.features.pictures import REDUCING_GAP, BrokenPicture, reason_of

GREY = 114  # YOLO networks were trained with it; for others any grey works


def scaled_picture(path: Path, name: str, side: int) -> DetectorPicture:
    """Read a picture with its longer side scaled to `side` pixels; with 0 only its size is read."""
    try:
        with open_image(path) as image:
            width, height = upright_size(image)
            if not side:
                return DetectorPicture(name, width, height, np.zeros((0, 0, 3), np.uint8))
            scale = side / max(width, height)
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            pixels = decode_upright(image, scale)
            scaled = pixels.resize(size, Image.Resampling.BILINEAR, reducing_gap=REDUCING_GAP)
            return DetectorPicture(name, width, height, np.asarray(scaled))
    except Exception as error:  # Pillow's readers raise nearly anything on a damaged file
        raise BrokenPicture(reason_of(path, error)) from error


def squares(pictures: list[DetectorPicture], side: int) -> NDArray[np.uint8]:
    """Return the pictures in the upper left of grey squares, uint8 [pictures, side, side, 3]."""
    pixels = np.full((len(pictures), side, side, 3), GREY, np.uint8)
    for square, picture in zip(pixels, pictures, strict=True):
        square[: picture.pixels.shape[0], : picture.pixels.shape[1]] = picture.pixels
    return pixels
