"""Weights of a graph in fewer bytes; the graph computes in float32 as before.

Each row of a weight is stored as whole numbers of one step: in int8 if that is exact, as for the weights of a model
folder of int8, otherwise in int16, which is more exact than float16. onnxruntime restores float32 when it opens the
graph; of tables, it restores only the rows that a sentence needs. A graph beside the weights of torch refers to those
int8 numbers instead of repeating them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, helper, numpy_helper

from lingvis.arrays import Floats
from lingvis.model.onnx.stored import StoredTensor

SMALLEST = 1024  # values; smaller weights stay float32
# Values; weights of shorter rows stay float32. Depthwise convolutions have few weights, which matter much.
SHORTEST_ROW = 32
EXACT = 1e-6  # largest error of int8, as a share of the largest value in a row


@dataclass(frozen=True, slots=True)
class _Reduced:
    """A weight as whole numbers times steps; steps: float32, one per row along some axis.

    transposed: whether whole and steps are those of the transposed weight.
    """

    whole: NDArray[Any]
    steps: Floats
    transposed: bool = False

    @property
    def by_row(self) -> bool:
        """Whether the steps belong to the rows of the first axis."""
        return self.steps.size == len(self.whole) and not self.transposed


def reduce_weights(model: onnx.ModelProto, stored: Sequence[StoredTensor]) -> None:
    """Store the large weights of a graph in fewer bytes, in place; stored: the int8 weights of the model folder."""
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
        reduced = _as_stored(values, stored) or _reduce(values)
        graph.initializer.remove(weight)
        graph.initializer.append(numpy_helper.from_array(reduced.whole, _whole(weight.name)))
        graph.initializer.append(numpy_helper.from_array(reduced.steps, _steps(weight.name)))
        lookups = [node for node in users[weight.name] if reduced.by_row and _looks_up(node, weight.name)]
        for node in lookups:
            _restore_rows(graph, node, weight.name)
        if len(lookups) < len(users[weight.name]):
            restoring += _restore(_whole(weight.name), _steps(weight.name), weight.name, reduced.transposed)
    for node in reversed(restoring):
        graph.node.insert(0, node)


def refer_to(model: onnx.ModelProto, file: str, stored: Sequence[StoredTensor]) -> None:
    """Let a graph take the weights that a file in its folder holds too from there, in place."""
    offsets = {tensor.values.tobytes(): tensor.offset for tensor in stored}
    for weight in model.graph.initializer:
        content = numpy_helper.to_array(weight).tobytes()
        if content in offsets:
            weight.raw_data = content
            external_data_helper.set_external_data(weight, file, offsets[content], len(content))
            weight.ClearField("raw_data")


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


def _as_stored(values: Floats, stored: Sequence[StoredTensor]) -> _Reduced | None:
    """The int8 numbers of the model folder that a weight, or the transposed weight, is a multiple of by rows."""
    for transposed in (False, True) if values.ndim == 2 else (False,):
        weight = values.T if transposed else values
        rows = weight.reshape(len(weight), -1)
        for whole in (tensor.values for tensor in stored if tensor.values.shape == weight.shape):
            numbers = whole.reshape(rows.shape).astype(np.float32)
            squares = (numbers * numbers).sum(axis=1)
            steps = np.where(squares > 0, (rows * numbers).sum(axis=1) / np.maximum(squares, 1), 1)
            error = np.abs(numbers * steps[:, None] - rows).max(axis=1)
            if np.all(error <= EXACT * np.abs(rows).max(axis=1)):
                each_row = (-1, *(1,) * (values.ndim - 1))
                return _Reduced(whole, steps.astype(np.float32).reshape(each_row), transposed)
    return None


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


def _restore(whole: str, steps: str, output: str, transposed: bool = False) -> Iterator[onnx.NodeProto]:
    """Nodes that make float32 of whole numbers and steps."""
    floating, product = f"{output}.floating", f"{output}.transposed" if transposed else output
    yield helper.make_node("Cast", [whole], [floating], to=onnx.TensorProto.FLOAT)
    yield helper.make_node("Mul", [floating, steps], [product])
    if transposed:
        yield helper.make_node("Transpose", [product], [output], perm=[1, 0])


def _whole(name: str) -> str:
    return f"{name}.whole"


def _steps(name: str) -> str:
    return f"{name}.steps"
