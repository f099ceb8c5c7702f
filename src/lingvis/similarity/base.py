"""The contract of similarities: two sides -> one score per pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from torch import Tensor, nn

from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry


class Similarity(RecipePart, nn.Module, ABC):
    """Scores every picture against every sentence.

    indexable: whether a score is the inner product of two embeddings, so that a nearest-neighbour index can be used.
    pooled: whether it compares one vector per row; otherwise it prepares the Tokens of each side.
    """

    indexable: ClassVar[bool]
    pooled: ClassVar[bool]

    def output_dim(self, dim: int) -> int:
        """Length of a prepared vector, from the length of the vectors of both sides."""
        return dim

    def check_pictures(self, count: int) -> None:
        """Raise if `finish` needs more than `count` training pictures; called before the training."""

    def finish(self, encode: Callable[[], Tensor]) -> None:
        """Called once after the training; encode: returns the embeddings of the training pictures [pictures, dim]."""

    @abstractmethod
    def prepare_images(self, side: Any) -> Tensor:
        """Pooled vectors [B, dim] or, if `pooled` is false, Tokens -> float32 embeddings to store and compare."""

    def prepare_texts(self, side: Any) -> Tensor:
        """The same for sentences."""
        return self.prepare_images(side)

    @abstractmethod
    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        """Prepared embeddings of I pictures and T sentences -> scores [I, T]."""


SIMILARITIES: Registry[type[Similarity]] = Registry("similarity")
