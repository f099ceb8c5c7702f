"""The list of built-in recipes: languages, size and training time, without building a model."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from lingvis.recipes.library import recipe_names, recipe_text

FIRST = "start"
MEASURED = "measured.json"  # made from records by `python -m studies tables`


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTraining:
    """A training run of a recipe: its length, its data, its machine, and the number of parameters of the model."""

    parameters: int
    seconds: float
    dataset: str
    device: str

    @property
    def duration(self) -> str:
        """Such as "90 s GPU" or "12 min CPU"."""
        time = f"{self.seconds:.0f} s" if self.seconds < 100 else f"{self.seconds / 60:.0f} min"
        return f"{time} {'GPU' if 'NVIDIA' in self.device else 'CPU'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSummary:
    """One line of the list; languages: empty for all of the dataset; measured: None if there is no record."""

    name: str
    summary: str
    source: str
    languages: Sequence[str]
    features: str
    measured: MeasuredTraining | None

    def as_json(self) -> dict[str, Any]:
        """One element of the list that `lingvis recipes list --json` prints."""
        return asdict(self)

    def row(self) -> list[str]:
        """Name, languages, size, training time and summary."""
        size, time = (
            ("", "")
            if self.measured is None
            else (f"{self.measured.parameters / 1e6:.1f} M", self.measured.duration)
        )
        return [self.name, ", ".join(self.languages) or "all", size, time, self.summary]


def recipe_summaries() -> list[RecipeSummary]:
    """All built-in recipes, the one to start with first."""
    text = (resources.files("lingvis.recipes") / MEASURED).read_text(encoding="utf-8")
    measured = {name: MeasuredTraining(**values) for name, values in json.loads(text).items()}
    names = sorted(recipe_names(), key=lambda name: (name != FIRST, name))
    summaries = []
    for name in names:
        recipe = tomllib.loads(recipe_text(name))
        summaries.append(
            RecipeSummary(
                name=name,
                summary=recipe["summary"],
                source=recipe["source"],
                languages=recipe["data"]["languages"],
                features=recipe["data"]["features"],
                measured=measured.get(name),
            )
        )
    return summaries
