"""Pictures by date, and numbers per month, folder and part of the map, counted by SQLite."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from lingvis.collection.stores.records import (
    CAPTION,
    INFO_COLUMNS,
    Filter,
    FolderCount,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
)
from lingvis.collection.stores.sqlite.reading import column_names
from lingvis.collection.stores.sqlite.rows import select_columns, to_conditions, to_info
from lingvis.collection.stores.squares import count_squares

LARGEST = 2**63 - 1


def page(connection: sqlite3.Connection, k: int, offset: int, where: Filter) -> list[PictureInfo]:
    """Return the newest rows."""
    columns = select_columns(INFO_COLUMNS, column_names(connection))
    limits = [min(k, LARGEST), min(offset, LARGEST)]
    rows = _rows(connection, columns, where, "ORDER BY date DESC, path LIMIT ? OFFSET ?", limits)
    return [to_info(row) for row in rows]


def timeline(connection: sqlite3.Connection, where: Filter) -> list[MonthCount]:
    """Return pictures per month, the latest first."""
    rows = _rows(connection, "substr(date, 1, 7), count(*)", where, "GROUP BY 1 ORDER BY 1 DESC")
    return [MonthCount(str(month), count) for month, count in rows]


def folders(connection: sqlite3.Connection, where: Filter) -> list[FolderCount]:
    """Return pictures per folder, ordered by path."""
    # In Python: SQLite has no function that finds the last separator.
    counts = Counter(str(path).rpartition(os.sep)[0] for (path,) in _rows(connection, "path", where))
    return [FolderCount(folder or os.sep, counts[folder]) for folder in sorted(counts)]


def places(connection: sqlite3.Connection, where: Filter, step: float) -> list[PlaceCount]:
    """Return pictures per square of the map."""
    columns = select_columns(["id", "latitude", "longitude"], column_names(connection))
    placed = _rows(
        connection, columns, where, "AND latitude + longitude IS NOT NULL ORDER BY date DESC, path"
    )
    if not placed:
        return []
    ids, *degrees = zip(*placed, strict=True)
    latitude, longitude = (np.asarray(values, np.float64) for values in degrees)
    return count_squares(latitude, longitude, lambda row: str(ids[row]), step)


def count(connection: sqlite3.Connection, where: Filter) -> int:
    """Return the number of rows."""
    return int(_rows(connection, "count(*)", where)[0][0])


def statistics(connection: sqlite3.Connection) -> Statistics:
    """Return numbers about all rows."""
    second = "second" if "second" in column_names(connection) else "NULL"
    columns = f"format, count(*), count({CAPTION}), sum(size), min(date), max(date), count({second})"
    rows = _rows(connection, columns, Filter(once=True), "GROUP BY 1 ORDER BY 1")
    return Statistics(
        pictures=sum(row[1] for row in rows),
        captions=sum(row[2] for row in rows),
        bytes=sum(int(row[3] or 0) for row in rows),
        formats={str(row[0]): row[1] for row in rows},
        first=datetime.fromisoformat(min(str(row[4]) for row in rows)) if rows else None,
        last=datetime.fromisoformat(max(str(row[5]) for row in rows)) if rows else None,
        videos=sum(row[6] for row in rows),
        moments=int(_rows(connection, f"count({second})", Filter())[0][0]),
    )


def _rows(
    connection: sqlite3.Connection, columns: str, where: Filter, end: str = "", limits: Sequence[int] = ()
) -> list[tuple[Any, ...]]:
    clause, values = to_conditions(where, column_names(connection))
    return connection.execute(
        f"SELECT {columns} FROM pictures WHERE {clause} {end}", [*values, *limits]
    ).fetchall()
