"""Token-wise linear maps, for both sides."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from lingvis.bounds import Count
from lingvis.types import Tokens


class Linear(nn.Module):
    """Every vector through one linear layer: [B, L, input_dim] -> [B, L, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = nn.Linear(input_dim, dim)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, tokens: Tokens) -> Tokens:
        return replace(tokens, values=self.linear(tokens.values))
