"""The contract of word parts: token ids -> one vector per token, before any context."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from torch import Tensor, nn

from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import TextBatch, Tokens


class WordPart(RecipePart, nn.Module, ABC):
    """Maps every token of a sentence to a vector of length `dim`.

    keeps_vectors: whether stored word vectors stay unchanged; its vocabulary is then every word with a vector.
    """

    dim: int
    keeps_vectors: ClassVar[bool] = False

    @property
    def per_language(self) -> bool:
        """Whether it has one layer per language, so that its computation depends on the languages of a batch."""
        return False

    @property
    def table_values(self) -> int:
        """Number of values in the word table of a deployed model; 0: there is no table."""
        return 0

    @property
    def trained_vectors(self) -> Tensor | None:
        """The trained vectors that started from stored ones, [words, any]; None if there are none."""
        return None

    def save(self, folder: Path) -> None:
        """Write files that the constructor needs besides the weights into a model folder; by default none."""
        return

    @abstractmethod
    def forward(self, batch: TextBatch) -> Tokens:
        """ids [B, L] -> [B, L, dim], with the mask and the languages of the batch."""


WORDS: Registry[type[WordPart]] = Registry("word part")
