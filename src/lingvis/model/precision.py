"""Weights in fewer bits: float16, or int8 with one float16 scale per row. Loading makes float32 of them again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

ReducedPrecision = Literal["float16", "int8"]
Precision = Literal["float32"] | ReducedPrecision
SCALE = ".scale"  # NAME.scale has one value per row of NAME, an int8 weight
LARGEST = 127
SHORTEST_ROW = (
    32  # values; shorter rows, and vectors, are stored as float16: their scales would cost too much
)


def reduce_precision(tensors: Mapping[str, Tensor], weights: Precision) -> dict[str, Tensor]:
    """Weights by name in the given precision, with the scales of int8 weights; whole numbers stay as they are.

    A row is an entry of the first dimension: an output channel of a convolution, a word of a table. A tensor with
    values beyond the range of float16 stays float32.
    """
    reduced: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if weights == "float32" or not tensor.is_floating_point():
            reduced[name] = tensor
            continue
        reduced[name] = _in_half(tensor)
        if weights == "int8" and tensor.ndim > 1 and math.prod(tensor.shape[1:]) >= SHORTEST_ROW:
            scale = _in_half(tensor.detach().float().flatten(1).abs().amax(dim=1) / LARGEST)
            if scale.dtype == torch.float16:
                reduced[name], reduced[name + SCALE] = _in_steps(tensor, scale), scale
    return reduced


def restore_precision(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights of any precision by name -> float32; raises ValueError if an int8 weight has no fitting scales."""
    restored: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scale = tensors.get(name + SCALE)
            if scale is None:
                raise ValueError(f"{name} is int8, but its scales, {name + SCALE}, are missing")
            rows = tensor.shape[:1]
            if scale.dtype != torch.float16 or scale.shape != rows or not rows:
                raise ValueError(
                    f"{name + SCALE} must be float16 {list(rows)}, one value per row of {name}, got "
                    f"{str(scale.dtype).removeprefix('torch.')} {list(scale.shape)}"
                )
            restored[name] = tensor.float() * _per_row(scale, tensor)
        elif tensor.is_floating_point():
            if not _is_scale(name, tensors):
                restored[name] = tensor.float()
        else:
            restored[name] = tensor
    return restored


def _is_scale(name: str, tensors: Mapping[str, Tensor]) -> bool:
    weight = tensors.get(name.removesuffix(SCALE)) if name.endswith(SCALE) else None
    return weight is not None and weight.dtype == torch.int8


def _in_half(tensor: Tensor) -> Tensor:
    """The tensor as float16, or unchanged if a value is too large for that."""
    half = tensor.half()
    return half if bool(torch.isfinite(half).all()) else tensor


def _in_steps(tensor: Tensor, scale: Tensor) -> Tensor:
    """The nearest multiple of each row's scale, int8."""
    steps = tensor.detach().float() / _per_row(scale, tensor)
    steps = steps.nan_to_num(0.0, 0.0, 0.0)  # a row of zeros, or of values so small that their scale is 0
    return steps.round().clamp(-LARGEST, LARGEST).to(torch.int8)


def _per_row(scale: Tensor, tensor: Tensor) -> Tensor:
    """Scales as float32 [rows, 1, ...], to multiply or divide the tensor by."""
    return scale.float().view(-1, *(1,) * (tensor.ndim - 1))
