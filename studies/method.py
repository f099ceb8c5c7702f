"""A system that a study compares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """A system of a study: its recipe and the values that are changed in it."""

    label: str
    recipe: str
    overrides: tuple[str, ...] = ()
