"""What every detector offers, and the registry that finds one by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lingvis.data.rows import Region
from lingvis.errors import UserError, choices
from lingvis.features.pictures import BrokenPicture
from lingvis.registry import Registry


@dataclass(frozen=True, slots=True)
class DetectorPicture:
    """What a detector gets of a picture.

    width, height: of the upright picture. pixels: uint8 [rows, columns, 3], scaled so that the longer side is
    the detector's `side`; of a detector that looks at no pixels, empty.
    """

    name: str
    width: int
    height: int
    pixels: NDArray[np.uint8]

    @property
    def scale(self) -> float:
        """Pixels of the upright picture for one of `pixels`."""
        return max(self.width, self.height) / float(max(self.pixels.shape[:2]))

    def region(
        self, box: Sequence[float], label: str, score: float, attribute: str | None = None
    ) -> Region | None:
        """What was seen in `box`, x0, y0, x1, y1 in pixels of the upright picture; None when it lies outside."""
        limits = (self.width, self.height, self.width, self.height)
        x0, y0, x1, y1 = (
            round(min(max(float(v), 0.0), float(most)), 1) for v, most in zip(box, limits, strict=True)
        )
        if not (x0 < x1 and y0 < y1):
            return None
        return Region(box=(x0, y0, x1, y1), label=label, attribute=attribute, score=round(float(score), 4))


@runtime_checkable
class Detector(Protocol):
    """Says what is where in pictures.

    name: what it was called by. made_of: digests of its files, so that other weights are told apart.
    side: how many pixels of the longer side it looks at; 0 when it reads a file and looks at none.
    """

    name: str
    made_of: tuple[str, ...]
    side: int

    def detect(self, pictures: Sequence[DetectorPicture]) -> Sequence[list[Region] | BrokenPicture]:
        """All regions of each picture, in any order and of any score."""
        ...


# A name that ends in capitals is a family: `onnx:FILE` stands for every file of that kind.
DETECTORS: Registry[Callable[..., Detector]] = Registry("detector")


def load_detector(name: str, *, labels: Path | None = None, images: Sequence[str] = ()) -> Detector:
    """Build the detector called `name`, such as tflite:model.tflite; nothing is downloaded.

    labels: a file with the names of its classes. images: the names of the pictures it will be asked about.
    """
    prefix, _, rest = name.partition(":")
    entry = next((entry for entry in DETECTORS if entry.name.partition(":")[0] == prefix), None)
    if entry is None:
        raise UserError(f"unknown detector {name!r}; choose one of: {choices(DETECTORS.names())}")
    if not rest:
        raise UserError(f"detector {name!r} lacks what it works with; write it as {entry.name}")
    return entry.factory(rest, labels=labels, images=images)


def existing(file: str, what: str) -> Path:
    """The path of a file that must be there."""
    path = Path(file)
    if not path.is_file():
        raise UserError(f"no {what} at {path}; name a file that exists, nothing is downloaded")
    return path


def needed(module: str, detector: str, *, install: str = "'lingvis[detectors]'") -> Any:
    """Import the library of a detector, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"detector {detector} needs {error.name or module}; run: pip install {install}"
        ) from error
