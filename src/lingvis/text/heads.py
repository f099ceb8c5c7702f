"""Pooled sentences -> the joint space."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.layers.per_language import PerLanguageLinear
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import Runs


class TextHead(RecipePart, nn.Module, ABC):
    """Projects pooled sentences into the joint space, which has `dim` dimensions."""

    dim: int

    @property
    def per_language(self) -> bool:
        """Whether it has one layer per language, so that its computation depends on the languages of a batch."""
        return False

    @abstractmethod
    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        """[B, input_dim] and the languages of the rows -> [B, dim]."""


TEXT_HEADS: Registry[type[TextHead]] = Registry("text head")


@TEXT_HEADS.register("none", "the pooled vector is the sentence")
class NoHead(TextHead):
    """[B, input_dim] unchanged."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        return pooled


@TEXT_HEADS.register("linear", "one linear layer (EmbN, MULE, SMALR)")
class LinearHead(TextHead):
    """[B, input_dim] -> [B, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        projected: Tensor = self.linear(pooled)
        return projected


@TEXT_HEADS.register("linear_per_language", "one linear layer per language (PAR EmbN)")
class PerLanguageHead(TextHead):
    """[B, input_dim] -> [B, dim]; with `gru_per_language` one whole branch per language (Gella et al. 2017)."""

    def __init__(self, *, language_count: Count, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = PerLanguageLinear(languages=language_count, input_dim=input_dim, dim=dim)

    @property
    def per_language(self) -> bool:
        """One linear layer per language."""
        return True

    def forward(self, pooled: Tensor, runs: Runs) -> Tensor:
        projected: Tensor = self.linear(pooled, runs)
        return projected
