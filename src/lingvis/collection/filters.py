"""A filter as a list of conditions, from which each engine makes its own question."""

from __future__ import annotations

import os
from typing import Any

from lingvis.collection.stores.records import Filter

Condition = tuple[str, str, Any]


def conditions(where: Filter) -> list[Condition]:
    """Return the conditions (column, comparison, value), which must all hold."""
    if where.album is not None:
        raise TypeError(
            "a store knows hashes, not albums: let the collection replace the album by its hashes"
        )
    every: list[Condition] = [
        ("path", *_folder(where.folder)),
        ("date", ">=", where.after),
        ("date", "<=", where.before),
        ("size", ">=", where.min_size),
        ("size", "<=", where.max_size),
        ("format", "=", where.format),
        ("hash", "in", sorted(where.hashes) if where.hashes is not None else None),
        ("latitude", ">=", where.area[0] if where.area is not None else None),
        ("longitude", ">=", where.area[1] if where.area is not None else None),
        ("latitude", "<=", where.area[2] if where.area is not None else None),
        ("longitude", "<=", where.area[3] if where.area is not None else None),
        ("second", "none or", 0.0 if where.once else None),
    ]
    return [condition for condition in every if condition[2] is not None]


def _folder(name: str | None) -> tuple[str, str | None]:
    """Return how paths in a folder compare, and with what; a relative name may be that of any folder."""
    if name is None or os.path.isabs(name) or os.path.isdir(name):
        return "starts_with", os.path.join(os.path.realpath(name), "") if name is not None else None
    return "contains", os.path.join(os.sep, os.path.normpath(name), "")
