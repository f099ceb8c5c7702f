"""Records of training runs -> the sizes and times that `lingvis recipes list` shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingvis.recipes.library import recipe_names
from studies.recipe_values import RECIPES, resolved
from studies.records import RUNS, Record, find, read

FOLDERS = ("start", "languages", "flickr8k-ml")  # of records with whole training runs, the first ones first
OTHER_DATA = {"data.languages", "data.vectors"}
FREE = {"training.seed", *OTHER_DATA}  # overrides with which a run is still one of its recipe


def measured_recipes(results: Path) -> str:
    """JSON by recipe: the quickest run with the values of the shipped file, and with its data if there is one."""
    shipped = {name: resolved(name) for name in recipe_names()}
    measured: dict[str, dict[str, Any]] = {}
    ranks: dict[str, tuple[int, float]] = {}
    for folder in FOLDERS:
        for record in read(results / folder / RUNS):
            name = _recipe_of(record, results / folder, shipped)
            if name is None or "parameters" not in record or "training" not in record:
                continue
            run = {
                "parameters": record["parameters"]["total"],
                "seconds": record.get("cpu_seconds") or record["training"]["seconds"],
                "dataset": record["dataset"],
                "device": record["training"]["device"],
            }
            other = len(OTHER_DATA.intersection(record.get("overrides", {})))
            known, rank = measured.get(name), (other, run["seconds"])
            if known is None or (known["dataset"] == run["dataset"] and rank < ranks[name]):
                measured[name], ranks[name] = run, rank
    return json.dumps(dict(sorted(measured.items())), indent=2) + "\n"


def _recipe_of(record: Record, folder: Path, shipped: Mapping[str, Record]) -> str | None:
    """The shipped recipe of a run: by its parts, since a recipe may have been renamed; old records have only a name."""
    if not record.get("recipe") or not FREE.issuperset(record.get("overrides", {})):
        return None
    stored = find(folder / RECIPES, record.get("base", ""))
    if stored is None:
        return record["recipe"] if record["recipe"] in shipped else None
    values = stored["values"]
    named = sorted(shipped, key=lambda name: name != record["recipe"])  # of equal ones, its own
    return next((name for name in named if _has_parts(shipped[name], values)), None)


def _has_parts(recipe: Record, values: Record) -> bool:
    """Whether a recipe has the image and text parts, and the terms, of an earlier version of it."""
    return all(_within(values.get(section, {}), recipe[section]) for section in ("image", "text", "terms"))


def _within(earlier: Any, present: Any) -> bool:
    """Whether values are the same but for keys that are new."""
    if isinstance(earlier, dict) and isinstance(present, dict):
        return all(key in present and _within(value, present[key]) for key, value in earlier.items())
    return bool(earlier == present)
