"""A filter as SQL for LanceDB, or as a mask over rows in memory."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lingvis.collection.filters import conditions
from lingvis.collection.stores.records import Filter

COMPARE = {
    ">=": pc.greater_equal,
    "<=": pc.less_equal,
    "=": pc.equal,
    "starts_with": pc.starts_with,
    "contains": pc.match_substring,
    "none or": lambda column, value: pc.fill_null(pc.equal(column, value), True),
    "in": lambda column, values: pc.is_in(column, value_set=pa.array(values, pa.string())),
}


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
