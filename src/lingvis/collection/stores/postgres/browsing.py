"""Pictures by date, and numbers in all and per month, folder and part of the map, counted by the server."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from psycopg import sql

from lingvis.collection.stores.escapes import from_text
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.rows import read_columns, to_conditions, to_info
from lingvis.collection.stores.postgres.state import State
from lingvis.collection.stores.records import (
    CAPTION,
    INFO_COLUMNS,
    MOST_PLACES,
    Filter,
    FolderCount,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
)
from lingvis.data.video.formats import FORMATS as VIDEO_FORMATS

NAME = f"{re.escape(os.sep)}[^{re.escape(os.sep)}]*$"  # the last part of a path
PAGE = sql.SQL("SELECT {info} FROM {table} WHERE {passes} ORDER BY date DESC, path LIMIT %s OFFSET %s")
MONTHS = sql.SQL(
    "SELECT to_char(date_trunc('month', date), 'YYYY-MM') AS month, count(*) FROM {table} WHERE {passes} "
    "GROUP BY 1 ORDER BY 1 DESC"
)
FOLDERS = sql.SQL(
    "SELECT regexp_replace(path, {name}, '') AS folder, count(*) FROM {table} WHERE {passes} GROUP BY 1 ORDER BY 1"
)
COUNT = sql.SQL("SELECT count(*) FROM {table} WHERE {passes}")
SUMS = sql.SQL(
    "SELECT format, count(*), count({caption}), sum(size), min(date), max(date) FROM {table} WHERE {passes} "
    "GROUP BY 1 ORDER BY 1"
)
PLACES = sql.SQL("""
    SELECT avg(latitude), avg(longitude), count(*), (array_agg(id ORDER BY date DESC, path))[1]
    FROM {table} WHERE {passes} GROUP BY floor(latitude / %s), floor(longitude / %s) ORDER BY 3 DESC, 4 LIMIT %s
""")


class Browser:
    """Reads one table by date."""

    def __init__(self, connection: Connection, state: State) -> None:
        self._cursor, self._state = connection.cursor(binary=True), state

    def page(self, k: int, offset: int, where: Filter) -> list[PictureInfo]:
        """Return the newest rows."""
        info = read_columns(INFO_COLUMNS, self._state.missing)
        return [to_info(row) for row in self._rows(PAGE, where, [k, offset], info=info)]

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        return [MonthCount(*row) for row in self._rows(MONTHS, where)]

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        rows = self._rows(FOLDERS, where, name=sql.Literal(NAME))
        return [FolderCount(from_text(folder) or os.sep, count) for folder, count in rows]

    def count(self, where: Filter) -> int:
        """Return the number of rows."""
        return int(self._rows(COUNT, where)[0][0])

    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        rows = self._rows(SUMS, Filter(once=True), caption=sql.Identifier(CAPTION))
        moments = (
            0 if "second" in self._state.missing else int(self._rows(COUNT, Filter(), column="second")[0][0])
        )
        return Statistics(
            pictures=sum(row[1] for row in rows),
            captions=sum(row[2] for row in rows),
            bytes=int(sum(row[3] for row in rows)),
            formats={from_text(row[0]): row[1] for row in rows},
            first=min((row[4] for row in rows), default=None),
            last=max((row[5] for row in rows), default=None),
            videos=sum(row[1] for row in rows if from_text(row[0]).upper() in VIDEO_FORMATS),
            moments=moments,
        )

    def places(self, where: Filter, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        if "latitude" in self._state.missing:
            return []
        rows = self._rows(PLACES, where, [step, step, MOST_PLACES], column="latitude")
        return [
            PlaceCount(latitude, longitude, count, from_text(id)) for latitude, longitude, count, id in rows
        ]

    def _rows(
        self,
        statement: sql.SQL,
        where: Filter,
        values: Sequence[Any] = (),
        *,
        column: str = "id",
        **parts: sql.Composable,
    ) -> list[tuple[Any, ...]]:
        passes, conditions = to_conditions(where, column, self._state.missing)
        query = statement.format(table=sql.Identifier(self._state.table), passes=passes, **parts)
        return self._cursor.execute(query, [*conditions, *values]).fetchall()
