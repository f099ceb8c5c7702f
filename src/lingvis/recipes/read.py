"""TOML text and overrides -> a recipe, with all problems in one report."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from lingvis.errors import UserError
from lingvis.recipes.schema import Part, Recipe
from lingvis.strict import explain

# Sections that are parts or contain parts.
PARTS = ("image", "text", "similarity", "pseudo", "teacher", "terms", "pretraining")


def parse_recipe(
    text: str,
    overrides: Sequence[str] = (),
    *,
    origin: str = "recipe",
    check: Callable[[Mapping[str, Any]], list[str]] = lambda values: [],
    rules: Callable[[Recipe], Iterable[str]] = lambda recipe: (),
) -> Recipe:
    """TOML text and `section.key=value` overrides -> a recipe; raises with all problems at once.

    `check` validates the options of every part, `rules` how the parts fit together in a recipe without other
    problems. Both are arguments because the registered parts belong to later stages.
    """
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{origin} is not valid TOML: {error}") from error
    # Names of parts first, then their options, whatever the order of the overrides.
    for override in sorted(overrides, key=lambda text: not text.partition("=")[0].strip().endswith(".name")):
        _apply(values, override)
    problems = []
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        problems = [explain(item) for item in error.errors()]
    problems += check(values)
    problems = problems or list(rules(recipe))
    if len(problems) == 1:
        raise UserError(f"{origin}: {problems[0]}")
    if problems:
        raise UserError(f"{origin} has {len(problems)} problems:", problems)
    return recipe


def lookup(values: Mapping[str, Any], where: str) -> Any:
    """The value at a dotted path of nested tables; None if there is none."""
    value: Any = values
    for key in where.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def part_override(place: str, part: Part) -> str:
    """The override that puts a part with all its options at a dotted place of a recipe."""
    options = (f"{key}={json.dumps(value)}" for key, value in part.model_dump().items())
    return f"{place}={{{', '.join(options)}}}"


def _apply(values: dict[str, Any], override: str) -> None:
    """Apply one override."""
    key, sign, text = override.partition("=")
    path = key.strip().split(".")
    if not sign or not all(path):
        raise UserError(
            f"override {override!r} is not of the form section.key=value, such as training.epochs=5"
        )
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text.strip()
    target = values
    for name in path[:-1]:
        target = target.setdefault(name, {})
        if not isinstance(target, dict):
            raise UserError(
                f"override {override!r}: {name} is a value, not a section; see `lingvis recipes show`"
            )
    is_part = path[0] in PARTS or path[:2] == ["training", "sampling"]
    if is_part and path[-1] == "name" and target.get("name") != value:
        target.clear()  # another part has other options
    target[path[-1]] = value
