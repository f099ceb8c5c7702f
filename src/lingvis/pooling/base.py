"""The contract of poolers: Tokens -> one vector per row."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import Tokens


class Pooler(RecipePart, nn.Module, ABC):
    """Pools the valid vectors of each row into one."""

    def output_dim(self, input_dim: int) -> int:
        """Length of a pooled vector; longer for poolers that concatenate several vectors."""
        return input_dim

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """[batch, length, dim] -> [batch, output_dim(dim)]; masked positions have no influence."""


POOLERS: Registry[type[Pooler]] = Registry("pooling")
