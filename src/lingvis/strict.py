"""Values that are read from files or requests and checked by pydantic, and its errors as clauses."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

SHOWN = 60  # characters of a wrong value


class StrictModel(BaseModel):
    """A record that never changes and rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def explain(problem: Any, *, where: str | None = None) -> str:
    """One entry of `ValidationError.errors()` as a clause: where it is, what is wrong, what was got.

    where: the name of the place; by default its keys, joined by dots.
    """
    place = where or ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"{place} is missing"
    if problem["type"] == "extra_forbidden":
        return f"unknown key {place}"
    message = problem["msg"].removeprefix("Value error, ")
    clause = f"{message[0].lower()}{message[1:]}, got {shortened(problem['input'])}"
    return f"{place}: {clause}" if place else clause


def shortened(value: object) -> str:
    """A value for an error message: escaped, and cut if it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
