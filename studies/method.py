"""A system that a study compares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """A system of a study: its recipe and the values that are changed in it."""

    label: str
    recipe: str
    overrides: tuple[str, ...] = ()


# Values that take the pseudo captions out of a recipe.
NO_PSEUDO_CAPTIONS = ("pseudo.name=none", "terms.pseudo.weight=0", "terms.matching.weight=1.0")
