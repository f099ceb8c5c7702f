"""TensorFlow Lite detectors that return boxes, classes, scores and a count: EfficientDet-Lite, SSD."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file, require_library
from lingvis.features.detectors.labels import labels_by_number, read_labels
from lingvis.features.detectors.pixels import squares
from lingvis.files import checksum
from lingvis.hardware import core_count


@DETECTORS.register(
    "tflite:FILE", "EfficientDet-Lite and similar networks, with the class names inside the file"
)
class TfliteDetector:
    """Runs one picture at a time through a .tflite file."""

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "TensorFlow Lite model")
        self.name = f"tflite:{path.name}"
        litert = require_library("ai_edge_litert.interpreter", self.name)
        try:
            self.network: Any = litert.Interpreter(str(path), num_threads=core_count())
            self.network.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise UserError(f"{path} is not a TensorFlow Lite model: {error}; name a .tflite file") from error
        self.labels = read_labels(labels) if labels else _labels_inside(path)
        self.made_of = (checksum(path), *([checksum(labels)] if labels else []))
        (self.input,) = self.network.get_input_details()
        self.outputs = [output["index"] for output in self.network.get_output_details()]
        shapes = sorted(len(output["shape"]) for output in self.network.get_output_details())
        _, self.side, width, channels = (int(n) for n in self.input["shape"])
        if shapes != [1, 2, 2, 3] or (width, channels) != (self.side, 3):
            raise UserError(
                f"{path} takes {self.input['shape'].tolist()} and returns {len(self.outputs)} values; a detector "
                f"takes a square RGB picture and returns boxes, classes, scores and their count"
            )

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The regions of each picture."""
        pixels = squares(list(pictures), self.side)
        return [
            self._regions(picture, square[None]) for picture, square in zip(pictures, pixels, strict=True)
        ]

    def _regions(self, picture: DetectorPicture, pixels: NDArray[np.uint8]) -> list[Region]:
        # Models that take floats were trained on -1 to 1.
        values = pixels if self.input["dtype"] == np.uint8 else (pixels / 127.5 - 1).astype(np.float32)
        self.network.set_tensor(self.input["index"], values)
        self.network.invoke()
        outputs = sorted((self.network.get_tensor(number) for number in self.outputs), key=np.ndim)
        classes, scores = (array[0] for array in outputs[1:3])
        # The order of these two differs from model to model; classes are whole numbers, scores are not.
        if (scores == np.round(scores)).all():
            classes, scores = scores, classes
        rows = zip(outputs[3][0] * self.side * picture.scale, classes, scores, strict=True)
        regions = [
            picture.region((x0, y0, x1, y1), self.labels[int(number)], score)
            for (y0, x0, y1, x1), number, score in list(rows)[: int(outputs[0][0])]
            if int(number) in self.labels
        ]
        return [region for region in regions if region is not None]


def _labels_inside(path: Path) -> dict[int, str]:
    """The label map that is zipped into the model file."""
    try:
        with zipfile.ZipFile(path) as packed:
            name = next(name for name in packed.namelist() if name.endswith(".txt"))
            return labels_by_number(packed.read(name).decode().splitlines())
    except (zipfile.BadZipFile, StopIteration) as error:
        raise UserError(
            f"{path} contains no label map; name a file with its class names as labels"
        ) from error
