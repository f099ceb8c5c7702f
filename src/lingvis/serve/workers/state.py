"""The knowledge that all processes of a server share: a small database, in memory if there is only one process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

FILE = "state.sqlite"
SECONDS_TO_WAIT = 5.0  # for a process that writes, which takes microseconds
SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (digest BLOB PRIMARY KEY, expiry REAL);
CREATE TABLE IF NOT EXISTS wrong (client TEXT PRIMARY KEY, count INT, last REAL, until REAL);
CREATE TABLE IF NOT EXISTS trusted (client TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS windows (name TEXT PRIMARY KEY, start REAL, total INT);
CREATE TABLE IF NOT EXISTS tickets (key TEXT PRIMARY KEY, name TEXT, pictures BLOB, expiry REAL);
"""


def create_state(folder: Path) -> None:
    """Make the database of several processes before they open it: the kind of its journal can only be set alone."""
    with closing(_connect(folder / FILE)) as database:
        database.execute("PRAGMA journal_mode = WAL")  # a killed process must leave it whole
        database.executescript(SCHEMA)


class SharedState:
    """Rows of the tables above; for use on the event loop only. folder: that of `create_state`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._database = _connect(":memory:" if folder is None else folder / FILE)
        if folder is None:
            self._database.executescript(SCHEMA)
        else:  # a machine without power takes it along
            self._database.execute("PRAGMA synchronous = OFF")

    def ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and return its rows."""
        return self._database.execute(statement, values).fetchall()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold off the writes of other processes during the block."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            self._database.execute("COMMIT")

    def keep(self, table: str, most: int) -> None:
        """Drop the oldest rows of a table beyond `most`."""
        older = f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT -1 OFFSET ?"
        self.ask(f"DELETE FROM {table} WHERE rowid IN ({older})", most)

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _connect(place: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(place, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False)
