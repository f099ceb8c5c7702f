"""YOLO networks in ONNX files, with outputs like version 5, like version 8 and later, or with final boxes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors.boxes import best_boxes, from_centres
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file, require_library
from lingvis.features.detectors.labels import read_labels
from lingvis.features.detectors.pixels import squares
from lingvis.files import checksum

USUAL_SIDE = 640
FAINT = 0.001  # YOLO returns thousands of boxes per picture; boxes below this score are useless
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@DETECTORS.register("onnx:FILE", "a YOLO network as exported by its tools, the class names inside the file")
class OnnxDetector:
    """Runs pictures through a .onnx file, in batches of its size."""

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "ONNX model")
        self.name = f"onnx:{path.name}"
        runtime = require_library("onnxruntime", self.name)
        try:
            self.session: Any = runtime.InferenceSession(
                str(path), providers=runtime.get_available_providers()
            )
        except Exception as error:  # the library has many unrelated classes of errors
            raise UserError(
                f"{path} cannot be loaded: {error}; name an ONNX model of a YOLO network"
            ) from error
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.labels = read_labels(labels) if labels else _labels_inside(path, metadata)
        self.made_of = (checksum(path), *([checksum(labels)] if labels else []))
        self.input = self.session.get_inputs()[0]
        shape = self.input.shape
        if len(shape) != 4 or shape[1] != 3 or self.input.type not in TYPES or _oblong(shape[2:]):
            raise UserError(
                f"{path} takes {shape} of {self.input.type}; only networks that take floats [pictures, 3, side, side] "
                f"are supported, export it for squares"
            )
        self.batch_size, self.side = self.input.shape[0], _side(self.input.shape, metadata)

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The regions of each picture."""
        pixels = squares(list(pictures), self.side).transpose(0, 3, 1, 2)
        values = (pixels / np.float32(255)).astype(TYPES[self.input.type])
        # A fixed batch size is a number; a name instead means any size.
        step = self.batch_size if isinstance(self.batch_size, int) else len(pictures)
        outputs: list[Floats] = []
        for start in range(0, len(values), step):
            batch = values[start : start + step]
            padded = np.concatenate([batch, np.zeros((step - len(batch), *batch.shape[1:]), batch.dtype)])
            (output, *_) = self.session.run(None, {self.input.name: padded})
            outputs += list(output[: len(batch)].astype(np.float32))
        return [self._regions(*pair) for pair in zip(pictures, outputs, strict=True)]

    def _regions(self, picture: DetectorPicture, output: Floats) -> list[Region]:
        boxes, scores, classes = read_output(output, 1 + max(self.labels))
        regions = [
            picture.region(boxes[n] * picture.scale, self.labels[int(classes[n])], scores[n])
            for n in range(len(boxes))
            if int(classes[n]) in self.labels
        ]
        return [region for region in regions if region is not None]


def read_output(output: Floats, classes: int) -> tuple[Floats, Floats, Ints]:
    """The output of a network for one picture -> boxes [n, 4] in its pixels, scores [n], classes [n].

    Version 8 and later: [4 + classes, anchors]; version 5: [anchors, 5 + classes], the fifth value is the score of
    any object at all; networks that need no suppression: [boxes, 6], final.
    """
    if output.ndim == 2 and output.shape[0] == 4 + classes:
        output = output.T
    if output.ndim == 2 and output.shape[1] == 4 + classes:
        class_scores = output[:, 4:]
    elif output.ndim == 2 and output.shape[1] == 5 + classes:
        class_scores = output[:, 5:] * output[:, 4:5]
    elif output.ndim == 2 and output.shape[1] == 6:
        return output[:, :4], output[:, 4], output[:, 5].astype(np.int64)
    else:
        raise UserError(
            f"the network returns {list(output.shape)} values per picture, which matches no YOLO of {classes} classes; "
            f"name a file with all its class names as labels"
        )
    scores, numbers = class_scores.max(axis=1), class_scores.argmax(axis=1)
    likely = scores > FAINT
    boxes, scores, numbers = from_centres(output[likely, :4]), scores[likely], numbers[likely]
    kept = best_boxes(boxes, scores, numbers)
    return boxes[kept], scores[kept], numbers[kept]


def _labels_inside(path: Path, metadata: dict[str, str]) -> dict[int, str]:
    """The class names that YOLO's exporter writes into the file, as the text of a Python dictionary."""
    try:
        return {int(number): str(name) for number, name in ast.literal_eval(metadata["names"]).items()}
    except (KeyError, ValueError, SyntaxError, AttributeError) as error:
        raise UserError(
            f"{path} contains no class names; name a file with one name per line in `labels`"
        ) from error


def _oblong(sides: Sequence[int | str | None]) -> bool:
    return all(isinstance(side, int) for side in sides) and len(set(sides)) > 1


def _side(shape: Sequence[int | str | None], metadata: dict[str, str]) -> int:
    """The side of the network's square input; if it accepts any, the side that its exporter recorded."""
    sides = [n for n in shape[2:] if isinstance(n, int)]
    if sides:
        return max(sides)
    recorded = ast.literal_eval(metadata["imgsz"]) if "imgsz" in metadata else [USUAL_SIDE]
    return int(max(recorded))
