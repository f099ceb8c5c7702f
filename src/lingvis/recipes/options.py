"""Options of a part against the constructor that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from lingvis.recipes.read import lookup
from lingvis.recipes.schema import (
    Part,
)
from lingvis.registry import Registry
from lingvis.strict import explain

# Constructor arguments that come from the data or from the part before, never from a recipe.
PROVIDED = (
    "input_dim",
    "vocabulary",
    "folder",
    "vectors",
    "assignment",
    "matrix",
    "language_count",
    "captions",
    "batch_size",
    "objective",
    "word_dim",
    "total_steps",
)


def part_problems(
    where: str,
    values: Mapping[str, Any],
    registry: Registry[Any],
    *,
    provided: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> list[str]:
    """Check the part at `where` against the registered constructor; `provided` arguments come from the builder,
    and `ignored` keys are not the constructor's.

    A part that is missing or has no name is the schema's to report.
    """
    found = lookup(values, where)
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return []
    part = Part(**{key: value for key, value in found.items() if key not in ignored})
    if part.name not in registry:
        return [
            f"{where}: unknown {registry.kind} {part.name!r}; choose one of: {', '.join(registry.names())}"
        ]
    model = _options_model(registry.get(part.name), frozenset(provided))
    try:
        model.model_validate(part.options)
    except ValidationError as error:
        problems = []
        for item in error.errors():
            item["loc"] = (where, *item["loc"])
            allowed = f"; allowed: {', '.join(model.model_fields) or 'none'}"
            problems.append(explain(item) + (allowed if item["type"] == "extra_forbidden" else ""))
        return problems
    return []


def _options_model(factory: Callable[..., object], provided: frozenset[str]) -> type[BaseModel]:
    """A pydantic model of a constructor's keyword arguments."""
    target = factory.__init__ if inspect.isclass(factory) else factory
    hints = get_type_hints(target, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if name in provided or parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    return create_model(
        "Options", __config__=ConfigDict(extra="forbid", strict=True, protected_namespaces=()), **fields
    )


def accepted(factory: Callable[..., object], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the builder's values that a constructor asks for."""
    parameters = inspect.signature(factory).parameters
    return {name: value for name, value in values.items() if name in parameters}
