"""All sentences of a run, with their origin as a column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.arrays import Bools, Ints
from lingvis.terms.base import Origin


class PairValues(ABC):
    """Values per picture and sentence that a source provides for the terms of the loss; name: see Step.pair_values."""

    name: ClassVar[str]

    @abstractmethod
    def to(self, device: torch.device) -> None:
        """Move the tensors that `values` reads to a device."""

    @abstractmethod
    def values(self, images: Ints, rows: Ints) -> Tensor:
        """float32 [I, T] for pictures and sentences by their numbers."""


@dataclass(frozen=True, slots=True)
class ClassSentences:
    """The classes that sentences of origin CLASS name; they are the last sentences of a run.

    first_row: number of the first of them; first_group: the group of class 0. concepts int64 [S]: what each sentence
    names; members bool [concepts, classes]: the classes that a concept covers.
    """

    first_row: int
    first_group: int
    concepts: Ints
    members: Bools

    def classes(self, groups: Ints) -> Ints:
        """The classes of groups."""
        return groups - self.first_group

    def named(self, rows: Ints, classes: Ints) -> Bools:
        """Whether each class [K] is named by each sentence [S]: bool [K, S]."""
        return self.members[np.ix_(self.concepts[rows - self.first_row], classes)].T


@dataclass(frozen=True, slots=True)
class Sentences:
    """texts[n] is in langs[n], of origin[n], and about images[groups[n]].

    Text-only sentences have groups from len(images) on, equal for sentences that say the same; names of classes have
    one group per class after these. in_vocabulary bool: whether the words of a sentence count for the vocabulary.
    """

    images: list[str]
    texts: list[str]
    langs: list[str]
    groups: Ints
    origin: NDArray[np.int8]
    in_vocabulary: Bools
    pair_values: tuple[PairValues, ...] = ()
    classes: ClassSentences | None = None

    def with_classes(self, classes: ClassSentences) -> Sentences:
        """The same sentences, with the classes that they name."""
        return replace(self, classes=classes)

    def rows(self, *origins: Origin) -> Ints:
        """Numbers of the sentences of these origins."""
        return np.flatnonzero(np.isin(self.origin, origins))

    def plus(
        self,
        origin: Origin,
        texts: Sequence[str],
        langs: Sequence[str],
        groups: Sequence[int] | Ints,
        *,
        in_vocabulary: Sequence[bool] | Bools | None = None,
        pair_values: Sequence[PairValues] = (),
    ) -> Sentences:
        """These sentences and more of one origin; in_vocabulary: all of them by default."""
        counted = np.ones(len(texts), bool) if in_vocabulary is None else np.asarray(in_vocabulary, bool)
        return Sentences(
            self.images,
            [*self.texts, *texts],
            [*self.langs, *langs],
            np.concatenate([self.groups, np.asarray(groups, np.int64)]),
            np.concatenate([self.origin, np.full(len(texts), origin, np.int8)]),
            np.concatenate([self.in_vocabulary, counted]),
            (*self.pair_values, *pair_values),
        )
