"""The step that every term of the loss sees, and the contract of a term."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.objectives.base import Objective
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import Clock, LanguageRows, Tokens


class Origin(IntEnum):
    """Who wrote a sentence."""

    HUMAN = 0  # a person, about a picture of the dataset; or a translator, from what a person wrote
    TEXT_ONLY = 1  # a person, about a picture that is not in the dataset
    PSEUDO = 2  # a detector, or found by teachers, about a picture that no person described
    CLASS = 3  # the name of a class of the backbone, alone or among other words


AUTHORED = (Origin.HUMAN, Origin.TEXT_ONLY)
ROUND = 32


@dataclass(frozen=True, slots=True)
class Columns:
    """Facts about the sentences of a step, kept on the host: choosing by them never waits for the device.

    groups int64 [T]: equal for sentences about one picture; langs int64 [T]: language numbers; origin int8 [T].
    Sentences are grouped by language.
    """

    groups: NDArray[np.int64]
    langs: NDArray[np.int64]
    origin: NDArray[np.int8]

    def __getitem__(self, places: slice | NDArray[np.int64]) -> Columns:
        return Columns(self.groups[places], self.langs[places], self.origin[places])

    def language_counts(self) -> tuple[int, int]:
        """Number of languages that occur, and the most sentences of one, rounded up so that few numbers occur."""
        counts = np.bincount(self.langs)
        return int((counts > 0).sum()), _rounded(int(counts.max(initial=0)))

    def group_count(self) -> int:
        """Number of pictures that the sentences are about, rounded up."""
        return _rounded(len(np.unique(self.groups)))

    def authored_runs(self) -> tuple[tuple[int, int], ...]:
        """Numbers of consecutive sentences by people, of pseudo captions and of names of classes, in order."""
        kinds = np.where(np.isin(self.origin, AUTHORED), Origin.HUMAN, self.origin)
        edges = np.flatnonzero(np.diff(kinds, prepend=-1))
        counts = np.diff(edges, append=len(kinds))
        return tuple(zip(kinds[edges].tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Views:
    """Sentences at two levels of the text side, whole or with some words hidden.

    words: vectors without context [T, L, word dim], with the mask token's vector for a hidden word; word_average:
    their mean over the words that are not hidden [T, word dim]; sentence_average: the mean of the states of the
    same words, projected [T, dim]; sentence: pooled and projected [T, dim].
    """

    words: Tokens
    word_average: Tensor
    sentence_average: Tensor
    sentence: Tensor


@dataclass(frozen=True, slots=True)
class Rereading:
    """The sentences of a step encoded again with some words hidden; text_emb [T, D], prepared."""

    text_emb: Tensor
    whole: Views
    hidden: Views


@dataclass(frozen=True, slots=True)
class ClassStep:
    """The classes of a step.

    image_emb float32 [K, D]: pictures of the step, each as if it showed an object of one more class; positives bool
    [K, S]: the class of each sentence of origin CLASS, in their order; named bool [K, S]: whether a sentence names a
    class at all, as "bird" names many. scores [I, classes]: of the pictures; known [I, classes]: the scores by the
    network before training.
    """

    image_emb: Tensor
    positives: Tensor
    named: Tensor
    scores: Tensor
    known: Tensor


@dataclass(frozen=True)
class Step:
    """One encoded batch: the input of every term of the loss.

    image_emb float32 [I, D] and text_emb float32 [T, D]: prepared for `similarity`; word_average float32 [T, W]: mean
    word vectors; positives bool [I, T]; images int64 [I]: the number of each picture; groups and langs int64 [T]: the
    picture and the language of each sentence, as in `columns`, on the device. reread(p): the same
    sentences with a share p of their words hidden, encoded once per p. pair_values: by name, values float32 [I, T] that
    a source of sentences provides for the step, such as the scores of teachers. targets float32 [T, D]: the embedding by
    the recipe's teacher that each sentence should get, a unit vector, or zeros for a sentence without one; None without
    a teacher. classes: None if the model has none.
    """

    image_emb: Tensor
    text_emb: Tensor
    word_average: Tensor
    positives: Tensor
    images: Tensor
    groups: Tensor
    langs: Tensor
    columns: Columns
    clock: Clock
    similarity: Callable[[Tensor, Tensor], Tensor]
    reread: Callable[[float], Rereading]
    pair_values: Mapping[str, Tensor] = field(default_factory=dict)
    targets: Tensor | None = None
    classes: ClassStep | None = None

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self.text_emb)

    @cached_property
    def scores(self) -> Tensor:
        """Score of every picture with every sentence, float32 [I, T]."""
        return self.similarity(self.image_emb, self.text_emb)

    @property
    def language_rows(self) -> LanguageRows:
        """The sentences by language."""
        return LanguageRows.of(self.langs, self.columns.language_counts())

    def of(self, *origins: Origin) -> Step:
        """The same pictures with the sentences of these origins only."""
        places = np.flatnonzero(np.isin(self.columns.origin, origins))
        if len(places) == len(self):
            return self
        chosen: slice | NDArray[np.int64] = places
        on_device: slice | Tensor
        if len(places) and places[-1] - places[0] == len(places) - 1:
            chosen = on_device = slice(int(places[0]), int(places[-1]) + 1)
        else:
            on_device = torch.from_numpy(places).to(self.text_emb.device, non_blocking=True)
        return replace(
            self,
            text_emb=self.text_emb[on_device],
            word_average=self.word_average[on_device],
            positives=self.positives[:, on_device],
            groups=self.groups[on_device],
            langs=self.langs[on_device],
            columns=self.columns[chosen],
            reread=_reread_part,
            pair_values={name: values[:, on_device] for name, values in self.pair_values.items()},
            targets=None if self.targets is None else self.targets[on_device],
        )


def _rounded(count: int) -> int:
    return -(-count // ROUND) * ROUND


def _reread_part(p: float) -> Rereading:
    raise ValueError("only a step with all of its sentences can be encoded again")


class Term(nn.Module, RecipePart, ABC):
    """A part of the loss: a step -> a scalar, which the task weighs and adds up.

    compares_pictures: whether it compares pictures with sentences; other terms compare sentences only, or train judges.
    imitates: whether it learns from the recipe's teacher, see Step.targets.
    """

    compares_pictures: ClassVar[bool] = False
    imitates: ClassVar[bool] = False

    @classmethod
    def learns_from(cls, options: Mapping[str, Any]) -> tuple[Origin, ...]:
        """Origins of the sentences that a term with these options learns from."""
        return AUTHORED

    @classmethod
    def watched(cls, options: Mapping[str, Any]) -> bool:
        """Whether a term with these options has a `blind` value, and so shows plateaus and collapses."""
        return False

    @property
    def rereads(self) -> bool:
        """Whether the term encodes the sentences again."""
        return False

    def phase(self, clock: Clock) -> Hashable:
        """Equal for all times at which the same operations are computed, see `Objective.phase`."""
        objective = getattr(self, "objective", None)
        return objective.phase(clock) if isinstance(objective, Objective) else ()

    @abstractmethod
    def forward(self, step: Step) -> Tensor: ...

    def blind(self, step: Step) -> Tensor | None:
        """The value for a model that maps everything to one point; None if it does not indicate a collapse."""
        return None


TERMS: Registry[type[Term]] = Registry("term")
