"""The table of sentences, and the contract of a sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Ints
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.terms.base import Origin


@dataclass(frozen=True, slots=True)
class SentenceTable:
    """The sentences that a run learns from, by number.

    groups int64 [S]: the picture of each sentence; langs int64 [S]: language numbers; lengths int64 [S]: in tokens;
    origin int8 [S].
    """

    groups: Ints
    langs: Ints
    lengths: Ints
    origin: NDArray[np.int8]

    def rows(self, *origins: Origin) -> Ints:
        """Numbers of the sentences of these origins."""
        return np.flatnonzero(np.isin(self.origin, origins))


class Sampler(RecipePart, ABC):
    """Batches of sentence numbers, grouped by language.

    Batches depend only on the seed and the epoch, so that a resumed run repeats them.
    """

    @classmethod
    def draws_text_only(cls, options: Mapping[str, Any]) -> bool:
        """Whether a sampler with these options draws sentences without a picture."""
        return bool(options.get("text_only"))

    @abstractmethod
    def batch_count(self) -> int:
        """Number of batches per epoch."""

    @abstractmethod
    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""


SAMPLERS: Registry[type[Sampler]] = Registry("sampling")


def by_language(rows: Ints, langs: Ints) -> Ints:
    """Group sentences by language, so that parts with one layer per language process them in one piece."""
    return rows[np.argsort(langs[rows], kind="stable")]
