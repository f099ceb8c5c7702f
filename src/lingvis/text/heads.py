"""The pooled sentence -> the joint space; the languages of the sentences come along as in TextBatch."""

from __future__ import annotations

from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.layers.per_language import PerLanguageLinear, Runs
from lingvis.registry import Registry

TEXT_HEADS: Registry[type[nn.Module]] = Registry("text head")


@TEXT_HEADS.register("none", "the pooled vector is the sentence")
class NoHead(nn.Module):
    """[B, input_dim] as it is."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        return pooled


@TEXT_HEADS.register("linear", "one linear layer (EmbN, MULE, SMALR)")
class LinearHead(nn.Module):
    """[B, input_dim] -> [B, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        projected: Tensor = self.linear(pooled)
        return projected


@TEXT_HEADS.register("linear_per_language", "one linear layer for each language (PAR EmbN)")
class PerLanguageHead(nn.Module):
    """[B, input_dim] -> [B, dim], with `gru_per_language` a whole branch a language (Gella et al. 2017)."""

    def __init__(self, *, language_count: Count, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = PerLanguageLinear(languages=language_count, input_dim=input_dim, dim=dim)

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        projected: Tensor = self.linear(pooled, runs)
        return projected
