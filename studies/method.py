"""A system that a study compares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """A system of a study: its recipe and the values that are changed in it.

    first: values that are changed further in a training before, whose weights it starts from; empty: there is none.
    """

    label: str
    recipe: str
    overrides: tuple[str, ...] = ()
    first: tuple[str, ...] = ()


# Values that take the pseudo captions out of a recipe.
NO_PSEUDO_CAPTIONS = ("pseudo.name=none", "terms.pseudo.weight=0", "terms.matching.weight=1.0")
