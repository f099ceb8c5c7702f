"""The pooled sentence -> the joint space."""

from __future__ import annotations

from torch import Tensor, nn

from lingvis.config import Count
from lingvis.registry import Registry

TEXT_HEADS: Registry[type[nn.Module]] = Registry("text head")


@TEXT_HEADS.register("none", "the pooled vector is the sentence")
class NoHead(nn.Module):
    """[B, input_dim] as it is."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, pooled: Tensor) -> Tensor:
        return pooled


@TEXT_HEADS.register("linear", "one linear layer (EmbN, MULE, SMALR)")
class LinearHead(nn.Module):
    """[B, input_dim] -> [B, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, pooled: Tensor) -> Tensor:
        projected: Tensor = self.linear(pooled)
        return projected
