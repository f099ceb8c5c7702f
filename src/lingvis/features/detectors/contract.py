"""The contract of detectors, and their registry."""

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
    """The input of a detector.

    width, height: size of the upright picture. pixels: uint8 [rows, columns, 3], scaled so that the longer side is
    the detector's `side`; empty for a detector that needs no pixels.
    """

    name: str
    width: int
    height: int
    pixels: NDArray[np.uint8]

    @property
    def scale(self) -> float:
        """The factor from `pixels` to pixels of the upright picture."""
        return max(self.width, self.height) / float(max(self.pixels.shape[:2]))

    def region(
        self, box: Sequence[float], label: str, score: float, attribute: str | None = None
    ) -> Region | None:
        """A region, clipped to the picture; box: x0, y0, x1, y1 in pixels of the upright picture.

        None for a box outside the picture.
        """
        limits = (self.width, self.height, self.width, self.height)
        x0, y0, x1, y1 = (
            round(min(max(float(v), 0.0), float(most)), 1) for v, most in zip(box, limits, strict=True)
        )
        if not (x0 < x1 and y0 < y1):
            return None
        return Region(box=(x0, y0, x1, y1), label=label, attribute=attribute, score=round(float(score), 4))


@runtime_checkable
class Detector(Protocol):
    """Finds regions in pictures.

    name: as passed to `load_detector`. made_of: digests of its files, which identify the weights.
    side: required pixels of the longer side; 0 if it reads a file and needs no pixels.
    """

    name: str
    made_of: tuple[str, ...]
    side: int

    def detect(self, pictures: Sequence[DetectorPicture]) -> Sequence[list[Region] | BrokenPicture]:
        """All regions of each picture, in any order and with any score."""
        ...


# A name that ends in capitals is a family: `onnx:FILE` means every file of this kind.
DETECTORS: Registry[Callable[..., Detector]] = Registry("detector")


def load_detector(name: str, *, labels: Path | None = None, images: Sequence[str] = ()) -> Detector:
    """Build the detector called `name`, such as tflite:model.tflite; nothing is downloaded.

    labels: a file with its class names. images: the names of all pictures that it will get.
    """
    prefix, _, rest = name.partition(":")
    entry = next((entry for entry in DETECTORS if entry.name.partition(":")[0] == prefix), None)
    if entry is None:
        raise UserError(f"unknown detector {name!r}; choose one of: {choices(DETECTORS.names())}")
    if not rest:
        raise UserError(f"detector {name!r} is incomplete; write it as {entry.name}")
    return entry.factory(rest, labels=labels, images=images)


def require_file(file: str, what: str) -> Path:
    """The path of a file; raises if it does not exist."""
    path = Path(file)
    if not path.is_file():
        raise UserError(f"no {what} at {path}; name an existing file, since nothing is downloaded")
    return path


def require_library(module: str, detector: str, *, install: str = "'lingvis[detectors]'") -> Any:
    """Import the library of a detector; raises with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"detector {detector} needs {error.name or module}; run: pip install {install}"
        ) from error
