"""Triton kernels of generalized pooling: a set is sorted in registers, weighted and summed without being written back.

A value of 16 bits and its position in the set share one key of 32 bits: the value as an integer of the same order above,
the position below. A sorting network sorts the keys of a dimension at once.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOWEST = tl.constexpr(-(2**31))  # the key of a position without a value


@triton.jit
def _keys(values, valid, position):
    """Keys of 16-bit values; not-a-number is the largest value, so that it is never hidden."""
    bits = values.to(tl.int16, bitcast=True)
    ordered = bits ^ ((bits >> 15) & 0x7FFF)
    ordered = tl.where(values != values, 0x7FFF, ordered).to(tl.int32)
    return tl.where(valid, (ordered << 16) | position, LOWEST)


@triton.jit
def _value(key, like):
    """The value of a key, as a float32; `like` has the number type of the values."""
    ordered = (key >> 16).to(tl.int16)
    bits = ordered ^ ((ordered >> 15) & 0x7FFF)
    return bits.to(like, bitcast=True).to(tl.float32)


@triton.jit
def forward_kernel(
    values,
    mask,
    weights,
    pooled,
    places,
    length,
    dim,
    SIZE: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
    KEEP: tl.constexpr,  # noqa: N803
):
    """One set and BLOCK of its dimensions: pooled [B, D], and the position of the n-th largest value, uint8 [B, L, D]."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    position = tl.arange(0, SIZE)
    inside = columns < dim
    valid = tl.load(mask + row * length + position, mask=position < length, other=0) != 0
    where = row * length * dim + position[None, :] * dim + columns[:, None]
    there = inside[:, None] & valid[None, :]
    loaded = tl.load(values + where, mask=there, other=0.0)  # [BLOCK, SIZE]
    keys = tl.sort(_keys(loaded, there, position[None, :]), dim=1, descending=True)
    weight = tl.load(weights + row * length + position, mask=position < length, other=0.0)
    ordered = tl.where(keys == LOWEST, 0.0, _value(keys, loaded.dtype))
    tl.store(pooled + row * dim + columns, tl.sum(ordered * weight[None, :], axis=1), mask=inside)
    if KEEP:
        known = inside[:, None] & (position < length)[None, :]
        tl.store(places + where, (keys & 0xFF).to(tl.uint8), mask=known)


@triton.jit
def backward_kernel(
    values,
    lengths,
    weights,
    places,
    gradient,
    of_values,
    of_weights,
    length,
    dim,
    blocks,
    SIZE: tl.constexpr,  # noqa: N803
    BLOCK: tl.constexpr,  # noqa: N803
):
    """The gradient of the values, and a part of that of the weights, float32 [B, blocks, L]."""
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    position = tl.arange(0, SIZE)
    count = tl.load(lengths + row)
    there = (columns < dim)[:, None] & (position < count)[None, :]
    start = row * length * dim
    place = tl.load(places + start + position[None, :] * dim + columns[:, None], mask=there, other=0)
    where = start + place.to(tl.int64) * dim + columns[:, None]
    weight = tl.load(weights + row * length + position, mask=position < length, other=0.0)
    upper = tl.load(gradient + row * dim + columns, mask=columns < dim, other=0.0).to(tl.float32)
    tl.store(of_values + where, upper[:, None] * weight[None, :], mask=there)
    ordered = tl.load(values + where, mask=there, other=0.0).to(tl.float32)
    part = tl.sum(ordered * upper[:, None], axis=0)
    tl.store(of_weights + (row * blocks + tl.program_id(1)) * length + position, part, mask=position < length)
