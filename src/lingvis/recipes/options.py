"""The options of parts, checked against the constructors that take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from lingvis.recipes.read import lookup
from lingvis.recipes.schema import Part
from lingvis.registry import Registry
from lingvis.strict import explain

# Constructor arguments that the builders provide, from the data or from other parts; recipes cannot set them.
PROVIDED = (
    "input_dim",
    "vocabulary",
    "folder",
    "vectors",
    "assignment",
    "matrix",
    "language_count",
    "classifier",
    "captions",
    "batch_size",
    "objective",
    "word_dim",
    "word_table",
    "total_steps",
    "picture_count",
    "start_run",
)


def part_problems(
    where: str,
    values: Mapping[str, Any],
    registry: Registry[Any],
    *,
    provided: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> list[str]:
    """The problems of the part at `where`, checked against the constructor registered under its name.

    provided: arguments that come from the builder. ignored: keys that do not belong to the constructor. The schema
    reports parts that are missing or have no name.
    """
    table = lookup(values, where)
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        return []
    part = Part(**{key: value for key, value in table.items() if key not in ignored})
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
    """The values that a constructor accepts as arguments."""
    parameters = inspect.signature(factory).parameters
    return {name: value for name, value in values.items() if name in parameters}
