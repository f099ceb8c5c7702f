"""A filter as SQL for an engine, or as a mask over rows in memory; both from one list of conditions."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lingvis.collection.stores.records import Filter

Condition = tuple[str, str, Any]
COMPARE = {
    ">=": pc.greater_equal,
    "<=": pc.less_equal,
    "=": pc.equal,
    "starts_with": pc.starts_with,
    "contains": pc.match_substring,
    "none or": lambda column, value: pc.fill_null(pc.equal(column, value), True),
    "in": lambda column, values: pc.is_in(column, value_set=pa.array(values, pa.string())),
}


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


def to_sql(where: Filter) -> str | None:
    """Return a filter as SQL; None if all rows pass."""
    return " AND ".join(_clause(*condition) for condition in conditions(where)) or None


def to_mask(where: Filter, rows: pa.Table) -> pa.ChunkedArray | None:
    """Return which rows pass, bool [rows]; None if all do."""
    mask = None
    for column, comparison, value in conditions(where):
        holds = pc.fill_null(COMPARE[comparison](rows[column], value), False)
        mask = holds if mask is None else pc.and_(mask, holds)
    return mask


def quote(text: str) -> str:
    """Return a string literal in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _clause(column: str, comparison: str, value: Any) -> str:
    if isinstance(value, datetime):
        value = f"timestamp {quote(value.isoformat(sep=' '))}"
    elif isinstance(value, str):
        value = quote(value)
    elif comparison == "in":
        return f"{column} IN ({', '.join(map(quote, value)) or quote('')})"
    if comparison == "none or":
        return f"({column} IS NULL OR {column} = {value})"
    if comparison == "contains":
        return f"strpos({column}, {value}) > 0"
    return (
        f"{comparison}({column}, {value})"
        if comparison == "starts_with"
        else f"{column} {comparison} {value}"
    )
