"""Leaving padded and dropped vectors out of a computation, where this costs no wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from lingvis.layers.tracing import is_recorded
from lingvis.types import Tokens


def leaves_out(values: Tensor) -> bool:
    """Whether vectors that do not count are left out: in training on a CPU, whose values the host can read at once."""
    return values.device.type == "cpu" and torch.is_grad_enabled() and not is_recorded()


def at_valid(layer: Callable[[Tensor, Tensor], Tensor], tokens: Tokens) -> Tokens:
    """Apply a layer to each vector; zeros take the place of those that were left out.

    layer: values [..., input_dim], and which of them count in statistics, bool [...] -> [..., dim].
    """
    mask, values = tokens.mask, tokens.values
    if not leaves_out(values) or mask.all():
        return replace(tokens, values=layer(values, tokens.counted))
    rows = mask.flatten().nonzero().squeeze(1)
    encoded = layer(values.flatten(0, 1).index_select(0, rows), tokens.counted[mask])
    padded = encoded.new_zeros(mask.numel(), encoded.shape[1]).index_copy(0, rows, encoded)
    return replace(tokens, values=padded.view(*mask.shape, -1))
