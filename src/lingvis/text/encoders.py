"""Word vectors -> vectors in context."""

from __future__ import annotations

from torch import nn

from lingvis.config import Count
from lingvis.projection import Linear
from lingvis.recurrent import MaskedGRU
from lingvis.registry import Registry
from lingvis.types import Tokens

TEXT_ENCODERS: Registry[type[nn.Module]] = Registry("text encoder")
TEXT_ENCODERS.register("linear", "one linear layer, no context (after a transformer)")(Linear)


@TEXT_ENCODERS.register("gru", "GRU, or BiGRU with the two directions averaged")
class GRU(nn.Module):
    """[B, L, input_dim] -> [B, L, dim]; each direction has `dim` units."""

    def __init__(self, *, input_dim: Count, dim: Count, bidirectional: bool) -> None:
        super().__init__()
        self.dim = dim
        self.gru = MaskedGRU(input_dim=input_dim, hidden=dim, bidirectional=bidirectional)

    def forward(self, tokens: Tokens) -> Tokens:
        return Tokens(self.gru(tokens.values, tokens.mask), tokens.mask)
