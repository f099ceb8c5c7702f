"""Weights of a graph in fewer bytes; the graph computes in float32 as before.

A weight whose rows are multiples of one step, as in a model folder of int8, is stored as int8 with its steps, every
other one as float16. onnxruntime restores float32 when it opens the graph. Of tables, it restores the rows that a
sentence needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from lingvis.arrays import Floats, StoredValues

SMALLEST = 1024  # values; smaller weights and vectors stay float32
LARGEST = 127  # of an int8 value
HALF_MAX = float(np.finfo(np.float16).max)
HALF_STEP = 2.0**-11  # relative error of float16


@dataclass(frozen=True, slots=True)
class _Reduced:
    """A weight in fewer bytes; steps: float32, for int8 only, as many dimensions as the values."""

    values: StoredValues
    steps: Floats | None = None


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
        if values.dtype != np.float32 or values.ndim < 2 or values.size < SMALLEST:
            continue
        reduced = _reduce(values)
        if reduced is None:
            continue
        graph.initializer.remove(weight)
        _add(graph, _stored(weight.name), reduced.values)
        if reduced.steps is not None:
            _add(graph, _steps(weight.name), reduced.steps)
        lookups = [node for node in users[weight.name] if _looks_up(node, weight.name, reduced)]
        for node in lookups:
            _restore_rows(graph, node, weight.name, reduced)
        if len(lookups) < len(users[weight.name]):
            restoring += _restore(_stored(weight.name), _steps(weight.name), weight.name, reduced)
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


def _reduce(values: Floats) -> _Reduced | None:
    """The weight as int8 where that is as exact as float16, otherwise as float16; None if it is too large for both."""
    for axis in range(values.ndim):
        others = tuple(each for each in range(values.ndim) if each != axis)
        largest = np.abs(values).max(axis=others, keepdims=True)
        steps = np.where(largest > 0, largest / LARGEST, 1.0).astype(np.float32)
        whole = np.rint(values / steps)
        if values.shape[axis] > 1 and np.all(np.abs(whole * steps - values) <= HALF_STEP * largest):
            return _Reduced(whole.astype(np.int8), steps)
    return _Reduced(values.astype(np.float16)) if np.abs(values).max() <= HALF_MAX else None


def _looks_up(node: onnx.NodeProto, name: str, reduced: _Reduced) -> bool:
    """Whether a node takes rows of the weight, whose steps belong to rows."""
    axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
    by_row = reduced.steps is None or reduced.steps.shape[0] > 1
    return node.op_type == "Gather" and node.input[0] == name and axis == 0 and by_row


def _restore_rows(graph: onnx.GraphProto, node: onnx.NodeProto, name: str, reduced: _Reduced) -> None:
    """Let a look-up take rows as they are stored, and restore these rows."""
    output = node.output[0]
    rows, steps = f"{output}.stored", f"{output}.steps"
    node.input[0], node.output[0] = _stored(name), rows
    following = _restore(rows, steps, output, reduced)
    if reduced.steps is not None:
        following.insert(0, helper.make_node("Gather", [_steps(name), node.input[1]], [steps], axis=0))
    place = next(position for position, each in enumerate(graph.node) if each.output[0] == rows)
    for position, each in enumerate(following):
        graph.node.insert(place + 1 + position, each)


def _restore(stored: str, steps: str, output: str, reduced: _Reduced) -> list[onnx.NodeProto]:
    """Nodes that make float32 of stored values."""
    if reduced.steps is None:
        return [helper.make_node("Cast", [stored], [output], to=onnx.TensorProto.FLOAT)]
    whole = f"{output}.whole"
    return [
        helper.make_node("Cast", [stored], [whole], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [whole, steps], [output]),
    ]


def _add(graph: onnx.GraphProto, name: str, values: StoredValues) -> None:
    graph.initializer.append(numpy_helper.from_array(values, name))


def _stored(name: str) -> str:
    return f"{name}.stored"


def _steps(name: str) -> str:
    return f"{name}.steps"
