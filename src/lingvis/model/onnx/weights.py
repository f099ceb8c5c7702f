"""Weights of a graph in fewer bytes; the graph computes in float32 as before.

Each row of a weight is stored as whole numbers of one step: in int8 if that is exact, as for the weights of a model
folder of int8, otherwise in int16, which is more exact than float16. onnxruntime restores float32 when it opens the
graph; of tables, it restores only the rows that a sentence needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from lingvis.arrays import Floats

SMALLEST = 1024  # values; smaller weights stay float32
# Values; weights of shorter rows stay float32. Depthwise convolutions have few weights, which matter much.
SHORTEST_ROW = 32
EXACT = 1e-6  # largest error of int8, as a share of the largest value in a row


@dataclass(frozen=True, slots=True)
class _Reduced:
    """A weight as whole numbers times steps; steps: float32, one per row along some axis."""

    whole: NDArray[Any]
    steps: Floats

    @property
    def by_row(self) -> bool:
        """Whether the steps belong to the rows of the first axis."""
        return self.steps.size == len(self.whole)


def reduce_weights(model: onnx.ModelProto) -> None:
    """Store the large weights of a graph in fewer bytes, in place."""
    graph = model.graph
    _name_constants(graph)
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in set(node.input):
            users.setdefault(name, []).append(node)
    restoring: list[onnx.NodeProto] = []
    for weight in list(graph.initializer):
        values = numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size < max(SMALLEST, SHORTEST_ROW * len(values)):
            continue
        reduced = _reduce(values)
        graph.initializer.remove(weight)
        graph.initializer.append(numpy_helper.from_array(reduced.whole, _whole(weight.name)))
        graph.initializer.append(numpy_helper.from_array(reduced.steps, _steps(weight.name)))
        lookups = [node for node in users[weight.name] if reduced.by_row and _looks_up(node, weight.name)]
        for node in lookups:
            _restore_rows(graph, node, weight.name)
        if len(lookups) < len(users[weight.name]):
            restoring += _restore(_whole(weight.name), _steps(weight.name), weight.name)
    for node in reversed(restoring):
        graph.node.insert(0, node)


def _name_constants(graph: onnx.GraphProto) -> None:
    """Turn large constants into weights with a name."""
    for node in list(graph.node):
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = node.attribute[0].t
            if np.prod(tensor.dims) >= SMALLEST:
                weight = graph.initializer.add()
                weight.CopyFrom(tensor)
                weight.name = node.output[0]
                graph.node.remove(node)


def _reduce(values: Floats) -> _Reduced:
    """The weight in int8 along an axis for which that is exact, otherwise in int16 along the first axis."""
    axes = [axis for axis, size in enumerate(values.shape) if size > 1]
    for axis in axes:
        reduced = _along(values, axis, np.int8)
        error = np.abs(reduced.whole * reduced.steps - values)
        if np.all(error <= EXACT * reduced.steps * np.iinfo(np.int8).max):
            return reduced
    return _along(values, axes[0], np.int16)


def _along(values: Floats, axis: int, kind: type[np.signedinteger[Any]]) -> _Reduced:
    """Whole numbers of this kind, with one step per entry of the axis."""
    others = tuple(each for each in range(values.ndim) if each != axis)
    largest = np.abs(values).max(axis=others, keepdims=True)
    steps = np.where(largest > 0, largest / np.iinfo(kind).max, 1.0).astype(np.float32)
    return _Reduced(np.rint(values / steps).astype(kind), steps)


def _looks_up(node: onnx.NodeProto, name: str) -> bool:
    """Whether a node takes rows of the weight."""
    axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
    return node.op_type == "Gather" and node.input[0] == name and axis == 0


def _restore_rows(graph: onnx.GraphProto, node: onnx.NodeProto, name: str) -> None:
    """Let a look-up take rows as they are stored, and restore these rows."""
    output = node.output[0]
    rows, steps = f"{output}.rows", _steps(output)
    node.input[0], node.output[0] = _whole(name), rows
    row_steps = helper.make_node("Gather", [_steps(name), node.input[1]], [steps], axis=0)
    place = next(position for position, each in enumerate(graph.node) if each.output[0] == rows)
    for position, each in enumerate([row_steps, *_restore(rows, steps, output)]):
        graph.node.insert(place + 1 + position, each)


def _restore(whole: str, steps: str, output: str) -> Iterator[onnx.NodeProto]:
    """Nodes that make float32 of whole numbers and steps."""
    floating = f"{output}.floating"
    yield helper.make_node("Cast", [whole], [floating], to=onnx.TensorProto.FLOAT)
    yield helper.make_node("Mul", [floating, steps], [output])


def _whole(name: str) -> str:
    return f"{name}.whole"


def _steps(name: str) -> str:
    return f"{name}.steps"
