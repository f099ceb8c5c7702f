"""Questions to the database of a collection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from lingvis.arrays import Ints
from lingvis.collection.stores.records import INFO_COLUMNS, Filter, PictureInfo
from lingvis.collection.stores.scan import Halves
from lingvis.collection.stores.sqlite.rows import among, check_vector, select_columns, to_conditions, to_info

CHUNK = 4096  # rows that are read at a time
FILTERS, RECORDS = 8, 10_000  # that are remembered


def column_names(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the columns of the records."""
    return {row[1] for row in connection.execute("PRAGMA table_info(pictures)")}


def read_version(connection: sqlite3.Connection) -> int:
    """Return a number that every change of the rows increases."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def read_infos(
    connection: sqlite3.Connection, key: str, values: Sequence[str] | Sequence[int]
) -> dict[int, PictureInfo]:
    """Return the records with one of these values in the column `key`, by their numbers."""
    columns = select_columns(INFO_COLUMNS, column_names(connection))
    clause, parameter = among(key, values)
    rows = connection.execute(f"SELECT number, {columns} FROM pictures WHERE {clause}", [parameter])
    return {number: to_info(info) for number, *info in rows}


class RecentRecords:
    """Records by their numbers, remembered until a row changes."""

    def __init__(self) -> None:
        self._last: tuple[int, dict[int, PictureInfo]] = -1, {}

    def get(
        self, connection: sqlite3.Connection, version: int, numbers: Sequence[int]
    ) -> dict[int, PictureInfo]:
        """Return the records that there are; version: of the rows, read before."""
        held_version, held = self._last  # threads share it
        if held_version != version or len(held) > RECORDS:
            held = {}
            self._last = version, held
        missing = [number for number in numbers if number not in held]
        if missing:
            held.update(read_infos(connection, "number", missing))
        return {number: held[number] for number in numbers if number in held}


def read_vectors(connection: sqlite3.Connection, column: str, dim: int) -> tuple[int, Halves, Ints]:
    """Return the version, all vectors of a column and the numbers of their rows, ascending; in a transaction."""
    (count,) = connection.execute(f"SELECT count({column}) FROM vectors").fetchone()
    vectors, numbers = np.empty((count, dim), np.float16), np.empty(count, np.int64)
    cursor = connection.execute(
        f"SELECT number, {column} FROM vectors WHERE {column} IS NOT NULL ORDER BY number"
    )
    end = 0
    while rows := cursor.fetchmany(CHUNK):
        start, end = end, end + len(rows)
        numbers[start:end] = [number for number, _ in rows]
        content = b"".join([check_vector(half, dim) for _, half in rows])
        vectors[start:end] = np.frombuffer(content, "<f2").reshape(-1, dim)
    if end != count or (np.diff(numbers) <= 0).any():
        raise ValueError("its rows are not in order")
    return read_version(connection), vectors, numbers


class PassingRows:
    """The numbers of the rows that pass a filter; the last filters are remembered until a row changes.

    Finding them takes far longer than the search among them: 150 ms of a million rows, for each page of the results.
    """

    def __init__(self) -> None:
        self._last: tuple[int, dict[tuple[Any, ...], Ints]] = -1, {}

    def get(self, connection: sqlite3.Connection, version: int, where: Filter) -> Ints:
        """Return the numbers, ascending; version: of the rows, read before."""
        clause, values = to_conditions(where, column_names(connection))
        key = clause, *values
        held_version, held = self._last  # threads share it
        if held_version != version:
            held = {}
            self._last = version, held
        found = held.get(key)
        if found is None:
            # As one text: a Python object per row would take five times as long.
            statement = f"SELECT group_concat(number) FROM pictures WHERE {clause}"
            (text,) = connection.execute(statement, values).fetchone()
            found = held[key] = np.fromstring(text or "", np.int64, sep=",")
            while len(held) > FILTERS:
                held.pop(next(iter(held)), None)
        return found
