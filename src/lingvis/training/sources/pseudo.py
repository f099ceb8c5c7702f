"""The contract of a source of pseudo captions, for training pictures that no person described."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from lingvis.data.dataset import Dataset
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.terms import TERMS, Origin
from lingvis.training.sources.sentences import Sentences


@dataclass(frozen=True, slots=True)
class Setting:
    """The inputs of a source.

    undescribed: places in Sentences.images of the pictures to describe. languages: all of the run; some_unannotated:
    whether some of them have no human captions in the run.
    """

    dataset: Dataset
    languages: Sequence[str]
    some_unannotated: bool
    undescribed: range
    device: torch.device | None


class PseudoSource(RecipePart, ABC):
    """Writes or finds pseudo captions."""

    one_each: ClassVar[bool] = False  # whether a batch has one pseudo caption per picture instead of all

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Some term must learn from pseudo captions."""
        used = any(
            term.weight and Origin.PSEUDO in TERMS.get(term.name).learns_from(term.options)
            for term in recipe.terms.values()
        )
        if not used:
            yield (
                f"pseudo.name is {recipe.pseudo.name}, but no term learns from pseudo captions; add one, such as "
                'terms.pseudo = { name = "matching", of = "pseudo", weight = 0.2, objective = ... }, or set '
                "pseudo.name = none"
            )

    @abstractmethod
    def add(self, known: Sentences, setting: Setting) -> Sentences:
        """Return the known sentences and pseudo captions of undescribed pictures."""

    @abstractmethod
    def digests(self, dataset: Dataset) -> list[str]:
        """Checksums of all files that the pseudo captions depend on."""


PSEUDO_SOURCES: Registry[type[PseudoSource]] = Registry("source of pseudo captions")


@PSEUDO_SOURCES.register("none", "no pseudo captions")
class NoPseudo(PseudoSource):
    """Pictures without human captions are left out."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """There are no requirements."""
        yield from ()

    def add(self, known: Sentences, setting: Setting) -> Sentences:
        """The known sentences."""
        return known

    def digests(self, dataset: Dataset) -> list[str]:
        """No files."""
        return []
