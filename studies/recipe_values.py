"""A recipe in a record: its name, and the values that differ from the shipped file.

The shipped values themselves are kept once per folder, in `recipes.jsonl`, so that a record stays complete when a
recipe changes later.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lingvis.errors import UserError
from lingvis.recipes.schema import Recipe
from lingvis.training.validate import load_recipe
from studies.records import Record, append, find

RECIPES = "recipes.jsonl"
GRAPHS = "training.graphs"
DIGITS = 12  # of a digest: enough to distinguish the versions of a recipe


def resolved(recipe: str, overrides: Sequence[str] = ()) -> Record:
    """All values of a recipe, as JSON stores them."""
    values: Record = json.loads(json.dumps(load_recipe(recipe, overrides).model_dump()))
    return values


def selection(values: Mapping[str, Any], split: str = "") -> str:
    """How the epoch of a run with these values was selected, and the split that was measured once after it."""
    over = values["training"].get("selection_epochs", 1)
    epoch = "epoch of best mR on val" if over == 1 else f"epoch of best mean mR on val over {over} epochs"
    return f"{epoch}, then {split} once" if split else epoch


def describe(recipe: str, values: Mapping[str, Any]) -> Record:
    """The fields of a record for a run with these values.

    recipe: its name. base: the digest of the shipped values. overrides: dotted key -> value, where it differs from
    the shipped one. without: keys that the shipped recipe has and the run has not, left out if there are none.
    """
    shipped = resolved(recipe)
    base, own = _flat(shipped), _flat(values)
    missing = [key for key in base if key not in own]
    return {
        "recipe": values["name"],
        "base": _digest(shipped),
        "overrides": {key: value for key, value in own.items() if key not in base or base[key] != value},
        **({"without": missing} if missing else {}),
    }


def keep_shipped(folder: Path, recipe: str) -> None:
    """Store the shipped values of a recipe in a folder of records, unless they are there."""
    shipped = resolved(recipe)
    name = _digest(shipped)
    if find(folder / RECIPES, name) is None:
        append(folder / RECIPES, {"name": name, "recipe": shipped["name"], "values": shipped})


def values_of(record: Mapping[str, Any], folder: Path) -> Record:
    """All values that a run was trained with; folder: where its record lies."""
    stored = find(folder / RECIPES, record.get("base", ""))
    if stored is None:
        raise UserError(
            f"the shipped recipe of record {record['name']} is not in {folder / RECIPES}; choose another --out, or "
            "delete the record's line to measure again"
        )
    values: Record = copy.deepcopy(stored["values"])
    for key in record.get("without", ()):
        _remove(values, _parts(key))
    for key, value in record["overrides"].items():
        *above, last = _parts(key)
        _place(values, above)[last] = copy.deepcopy(value)
    return values


def same_values(stored: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Whether a run was trained with these values; a key that it lacks did not exist yet and had its default.

    Recorded CUDA graphs change the time of a step and nothing else.
    """
    try:
        completed = Recipe.model_validate(stored).model_dump()
    except ValidationError:  # keys were renamed since
        return dict(stored) == dict(values)
    own, other = _flat(json.loads(json.dumps(completed))), _flat(values)
    return own | {GRAPHS: None} == other | {GRAPHS: None}


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:DIGITS]


def _flat(values: Mapping[str, Any], above: str = "") -> Record:
    """Dotted key -> value; a key that has a dot is quoted, as in TOML."""
    flat: Record = {}
    for key, value in values.items():
        dotted = above + (json.dumps(key) if "." in key else key)
        flat |= _flat(value, f"{dotted}.") if isinstance(value, dict) and value else {dotted: value}
    return flat


def _parts(dotted: str) -> list[str]:
    return [part.strip('"') for part in re.findall(r'"[^"]*"|[^.]+', dotted)]


def _remove(values: Record, parts: Sequence[str]) -> None:
    """Delete a key, and the tables above it that become empty."""
    first, *below = parts
    if below:
        _remove(values[first], below)
    if not below or not values[first]:
        del values[first]


def _place(values: Record, above: Sequence[str]) -> Record:
    """The table that a key lies in, made if need be."""
    for part in above:
        if not isinstance(values.get(part), dict):
            values[part] = {}
        values = values[part]
    return values
