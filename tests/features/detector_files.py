"""Small files that detectors read, made by the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

SIDE, CELL, STEP = 64, 16, 4
COLOURS = ("red", "green", "blue")


def coloured(size: tuple[int, int], things: dict[str, tuple[int, int, int, int]]) -> Image.Image:
    """Rectangles of pure colours on black: x0, y0, x1, y1."""
    image = Image.new("RGB", size)
    for colour, (x0, y0, x1, y1) in things.items():
        values = tuple(255 if name == colour else 0 for name in COLOURS)
        ImageDraw.Draw(image).rectangle((x0, y0, x1 - 1, y1 - 1), fill=values)
    return image


def write_yolo(file: Path, *, version: int, batch: int | str = "batch", names: bool = True) -> Path:
    """A YOLO-like network that works: boxes of 16 pixels at every fourth pixel of a picture of 64.

    The score of a class is how much of its colour lies in the box. Boxes overlap their neighbours by more than
    half, so that suppression has something to do.
    """
    onnx: Any = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    places = np.arange(CELL // 2, SIDE - CELL // 2 + 1, STEP)
    anchors = len(places) ** 2
    centres = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    boxes = np.concatenate([centres, np.full((anchors, 2), CELL)], axis=1).astype(np.float32)
    nodes = [
        helper.make_node("AveragePool", ["images"], ["pooled"], kernel_shape=[CELL] * 2, strides=[STEP] * 2),
        helper.make_node("Reshape", ["pooled", "flat"], ["scores"]),
        helper.make_node("Shape", ["images"], ["pictures"], start=0, end=1),
        helper.make_node("Concat", ["pictures", "rest"], ["wanted"], axis=0),
        helper.make_node("Expand", ["boxes", "wanted"], ["all"]),
    ]
    constants = {"flat": np.array([0, 3, anchors]), "boxes": boxes.T[None]}
    if version == 8:
        constants["rest"] = np.array([4, anchors])
        nodes.append(helper.make_node("Concat", ["all", "scores"], ["output"], axis=1))
        shape: list[int | str] = [batch, 7, anchors]
    else:  # half sure that there is anything
        constants["boxes"] = np.concatenate(
            [boxes.T[None], np.full((1, 1, anchors), 0.5, np.float32)], axis=1
        )
        constants["rest"] = np.array([5, anchors])
        nodes.append(helper.make_node("Concat", ["all", "scores"], ["turned"], axis=1))
        nodes.append(helper.make_node("Transpose", ["turned"], ["output"], perm=[0, 2, 1]))
        shape = [batch, anchors, 8]
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("images", kinds.FLOAT, [batch, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("output", kinds.FLOAT, shape)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    if names:
        helper.set_model_props(model, {"names": str(dict(enumerate(COLOURS)))})
    onnx.save(model, file)
    return file
