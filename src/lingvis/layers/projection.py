"""The linear layer of both sides."""

from __future__ import annotations

from torch import nn


def xavier_linear(input_dim: int, dim: int) -> nn.Linear:
    """A linear layer with Xavier weights and a bias of zero."""
    layer = nn.Linear(input_dim, dim)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
