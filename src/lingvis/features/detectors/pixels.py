"""Picture files -> upright pixels of the size that a detector takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.features.decoding.content import Decode, DecodeRequest, decode_content, decode_file
from lingvis.features.detectors.contract import DetectorPicture

GREY = 114  # YOLO networks were trained with it; for others any grey works


def scaled_picture(path: Path, name: str, side: int, decode: Decode = decode_content) -> DetectorPicture:
    """Read a picture with its longer side scaled to `side` pixels; with 0 only its size is read."""
    content = decode_file(path, DecodeRequest(longer_side=side or None), decode)
    pixels = content.pixels if content.pixels is not None else np.zeros((0, 0, 3), np.uint8)
    return DetectorPicture(name, content.width, content.height, pixels)


def squares(pictures: list[DetectorPicture], side: int) -> NDArray[np.uint8]:
    """Return the pictures in the upper left of grey squares, uint8 [pictures, side, side, 3]."""
    pixels = np.full((len(pictures), side, side, 3), GREY, np.uint8)
    for square, picture in zip(pixels, pictures, strict=True):
        square[: picture.pixels.shape[0], : picture.pixels.shape[1]] = picture.pixels
    return pixels
