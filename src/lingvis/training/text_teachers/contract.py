"""The contract of a teacher of the text side, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import torch

from lingvis.arrays import Floats
from lingvis.recipes.rules import RecipePart
from lingvis.recipes.schema import Recipe
from lingvis.registry import Registry
from lingvis.terms import TERMS


class TextTeacher(RecipePart, ABC):
    """A trained text side in use: sentences in its languages -> embeddings."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Some term must imitate the teacher, with embeddings that are compared by their cosine."""
        if not any(term.weight and TERMS.get(term.name).imitates for term in recipe.terms.values()):
            yield (
                f"teacher.name is {recipe.teacher.name}, but no term imitates it; add "
                'terms.distance = { name = "teacher_distance", weight = 1.0 }, or set teacher.name = none'
            )
        if recipe.similarity.name != "cosine":
            yield (
                f"teacher.name is {recipe.teacher.name}, whose embeddings are compared by their cosine, but "
                f"similarity.name is {recipe.similarity.name}; set similarity.name = cosine"
            )

    @abstractmethod
    def load(self, device: torch.device) -> None:
        """Load the weights to a device; `languages` and `encode` need them."""

    @property
    @abstractmethod
    def languages(self) -> list[str]:
        """The languages of the teacher."""

    @abstractmethod
    def encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Sentences in the teacher's languages -> unit vectors, float32 [texts, dim]."""


TEXT_TEACHERS: Registry[type[TextTeacher]] = Registry("teacher")


@TEXT_TEACHERS.register("none", "no teacher")
class NoTeacher(TextTeacher):
    """Has no language, so that no sentence has a target."""

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """No term may ask for a teacher."""
        for name, term in recipe.terms.items():
            if term.weight and TERMS.get(term.name).imitates:
                yield (
                    f"terms.{name} imitates a teacher, but teacher.name is none; set teacher.name = start or open_clip, "
                    f"or terms.{name}.weight = 0"
                )

    def load(self, device: torch.device) -> None:
        """There is nothing to load."""

    @property
    def languages(self) -> list[str]:
        """No language."""
        return []

    def encode(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Raise, since there is no language."""
        raise ValueError("there is no teacher")
