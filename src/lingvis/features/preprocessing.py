"""How a picture is prepared for a backbone; this module needs no torch, so that decoder processes start quickly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interpolation = Literal["nearest", "bilinear", "bicubic", "lanczos"]
Fit = Literal["squash", "crop"]


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """How a picture becomes a square of `size` pixels with channels (value / 255 - mean) / std.

    fit: `squash` scales width and height separately, `crop` takes the largest centred square first.
    keep: the share of each side that the centred cut keeps; 1 keeps everything after `fit`.
    """

    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Interpolation = "bicubic"
    fit: Fit = "squash"
    keep: float = 1.0
