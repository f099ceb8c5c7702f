"""Generalized pooling in one kernel on an NVIDIA GPU: sorting, weighting and summing."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import torch
from torch import Tensor

from lingvis.layers.tracing import is_recorded
from lingvis.types import Tokens

# The largest set: positions are stored in a byte, and a set and its network must fit into registers.
LARGEST = 128
# Keys that one program sorts at once.
KEYS = 4096


def fuses(tokens: Tokens) -> bool:
    """Whether the kernels can be used: values of 16 bits on a GPU, sets that are not too large, not while exporting."""
    values = tokens.values
    narrow = values.dtype in (torch.float16, torch.bfloat16)
    return values.is_cuda and narrow and values.shape[1] <= LARGEST and _installed() and not is_recorded()


@cache
def _installed() -> bool:
    """Whether Triton is there; torch for CUDA brings it along on Linux."""
    return importlib.util.find_spec("triton") is not None


def weigh_sorted(tokens: Tokens, weights: Tensor) -> Tensor:
    """Sum of the valid values of each dimension in descending order times weights [batch, length]; [batch, dim].

    Weights beyond the size of a set must be zero. Sums are computed in float32.
    """
    pooled: Tensor = _WeighSorted.apply(  # type: ignore[no-untyped-call]
        tokens.values.contiguous(), tokens.mask, weights.float().contiguous()
    )
    return pooled


class _WeighSorted(torch.autograd.Function):
    """Between the passes only the position of the n-th largest value is kept, a byte per value."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
        from lingvis.pooling.kernels.weighted_sort import forward_kernel

        batch, length, dim = values.shape
        size, block = _tile(length)
        keep = ctx.needs_input_grad[0] or ctx.needs_input_grad[2]
        pooled = torch.empty(batch, dim, dtype=values.dtype, device=values.device)
        places = torch.empty(values.shape if keep else (1,), dtype=torch.uint8, device=values.device)
        forward_kernel[(batch, -(-dim // block))](
            values, mask, weights, pooled, places, length, dim, SIZE=size, BLOCK=block, KEEP=keep
        )
        ctx.save_for_backward(values, mask, weights, places)
        return pooled

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        from lingvis.pooling.kernels.weighted_sort import backward_kernel

        values, mask, weights, places = ctx.saved_tensors
        batch, length, dim = values.shape
        size, block = _tile(length)
        blocks = -(-dim // block)
        of_values = torch.zeros_like(values)  # positions without a value stay zero
        of_weights = torch.empty(batch, blocks, length, dtype=torch.float32, device=values.device)
        backward_kernel[(batch, blocks)](
            values,
            mask.sum(dim=1),
            weights,
            places,
            gradient.contiguous(),
            of_values,
            of_weights,
            length,
            dim,
            blocks,
            SIZE=size,
            BLOCK=block,
        )
        return of_values, None, of_weights.sum(dim=1)


def _tile(length: int) -> tuple[int, int]:
    """The padded size of a set, a power of two, and the number of dimensions per program."""
    size = max(16, 1 << (length - 1).bit_length())
    return size, KEYS // size
