"""Sorting of each feature of a set separately: the hot spot of generalized pooling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lingvis.layers.tracing import is_recorded
from lingvis.types import Tokens

# A float32 written as a float64 leaves the 29 lowest bits of the mantissa zero: room for the position.
POSITION_BITS = (1 << 29) - 1


def sort_features(tokens: Tokens) -> Tensor:
    """The valid values of each feature in descending order, zeros after them; [batch, dim, length].

    Differentiable. NaN counts as the largest value, so that it is never hidden in the padding.
    """
    size = tokens.mask.shape[1]
    lowest = torch.finfo(tokens.values.dtype).min
    columns = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), lowest).transpose(1, 2)
    if packs(columns):
        ordered: Tensor = _PackedSort.apply(columns)  # type: ignore[no-untyped-call]
    else:
        ordered = columns.sort(dim=-1, descending=True).values
    rank = torch.arange(size, device=columns.device)
    valid = rank < tokens.lengths.unsqueeze(1)
    return ordered * valid.unsqueeze(1).to(ordered.dtype)


def packs(columns: Tensor) -> bool:
    """Whether the packed sort can be used: on the CPU, for up to 32 bits, and not while a graph is exported."""
    narrow = columns.dtype in (torch.float32, torch.bfloat16, torch.float16)
    return columns.device.type == "cpu" and narrow and not is_recorded()


class _PackedSort(torch.autograd.Function):
    """Descending sort of the last axis; a value and its position share one float64 key.

    NumPy sorts plain numbers with vector instructions, several times faster than `torch.sort` sorts pairs of
    value and position. The key holds both: the exact value, and the position in the bits that a float32 does not use,
    which also breaks ties. Without a gradient only the float32 values are sorted.
    """

    @staticmethod
    def forward(ctx: Any, columns: Tensor) -> Tensor:
        keys = columns.to(torch.float32, memory_format=torch.contiguous_format, copy=True)
        if ctx.needs_input_grad[0]:
            keys = keys.double()
            bits = keys.view(torch.int64)
            bits |= torch.arange(keys.shape[-1])
            keys.numpy().sort(axis=-1)
            ordered = keys.to(columns.dtype)
            bits &= POSITION_BITS
            ctx.save_for_backward(bits)
        else:
            keys.numpy().sort(axis=-1)
            ordered = keys.to(columns.dtype)
        return ordered.flip(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (positions,) = ctx.saved_tensors  # in ascending order of the values
        turned = grad.flip(-1)
        return torch.empty_like(turned).scatter_(-1, positions, turned)
