"""Pooled pictures -> the joint space."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry


class ImageHead(RecipePart, nn.Module, ABC):
    """Projects pooled pictures into the joint space, which has `dim` dimensions."""

    dim: int

    @abstractmethod
    def forward(self, pooled: Tensor) -> Tensor:
        """[B, input_dim] -> [B, dim]."""


IMAGE_HEADS: Registry[type[ImageHead]] = Registry("image head")


@IMAGE_HEADS.register("none", "the pooled vector is the picture")
class NoImageHead(ImageHead):
    """[B, input_dim] unchanged."""

    def __init__(self, *, input_dim: Count) -> None:
        super().__init__()
        self.dim = input_dim

    def forward(self, pooled: Tensor) -> Tensor:
        return pooled


@IMAGE_HEADS.register("linear", "one linear layer, for embeddings that are shorter than the pooled vector")
class LinearImageHead(ImageHead):
    """[B, input_dim] -> [B, dim]."""

    def __init__(self, *, input_dim: Count, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = nn.Linear(input_dim, dim)

    def forward(self, pooled: Tensor) -> Tensor:
        projected: Tensor = self.linear(pooled)
        return projected
