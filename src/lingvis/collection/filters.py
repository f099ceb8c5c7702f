"""A filter as SQL for an engine, or as a mask over rows in memory; both from one list of conditions."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lingvis.collection.stores.records import Filter

Condition = tuple[str, str, Any]
COMPARE = {">=": pc.greater_equal, "<=": pc.less_equal, "=": pc.equal, "starts_with": pc.starts_with}


def conditions(where: Filter) -> list[Condition]:
    """Return the conditions (column, comparison, value), which must all hold."""
    folder = os.path.join(os.path.realpath(where.folder), "") if where.folder is not None else None
    every: list[Condition] = [
        ("path", "starts_with", folder),
        ("date", ">=", where.after),
        ("date", "<=", where.before),
        ("size", ">=", where.min_size),
        ("size", "<=", where.max_size),
        ("format", "=", where.format.lower() if where.format is not None else None),
    ]
    return [condition for condition in every if condition[2] is not None]


def to_sql(where: Filter) -> str | None:
    """Return a filter as SQL; None if all rows pass."""
    return " AND ".join(_clause(*condition) for condition in conditions(where)) or None


def to_mask(where: Filter, rows: pa.Table) -> pa.ChunkedArray | None:
    """Return which rows pass, bool [rows]; None if all do."""
    mask = None
    for column, comparison, value in conditions(where):
        holds = COMPARE[comparison](rows[column], value)
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
    return (
        f"{comparison}({column}, {value})"
        if comparison == "starts_with"
        else f"{column} {comparison} {value}"
    )
