"""Vectors of a table in the memory of this process, for exact searches that the server would need too long for."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from lingvis.arrays import Floats
from lingvis.collection.stores.exact import RELOAD_SHARE
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.rows import CHANGED
from lingvis.collection.stores.postgres.state import State
from lingvis.collection.stores.scan import Halves, VectorScan

PAGE = 4096  # rows that are fetched at a time
HEAD = 4  # bytes before the values of a vector, as the server sends it
SEARCHES_BEFORE = 2  # of a process, until it is worth a load; `lingvis search` rarely needs more
SECONDS_BETWEEN_TRIES = 30.0
SECONDS_UNTIL_SMALLER = 3600.0  # until a table that was too large is counted again

# Counts no further than needed, since a large table would be read as a whole.
COUNT = """
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
        (SELECT count(*) FROM (SELECT FROM {table} WHERE {column} IS NOT NULL LIMIT %s) AS found)
"""

log = logging.getLogger("lingvis.collection")
Read = Callable[[Callable[[Connection], Any]], Any]


class TooLarge(Exception):
    """A table has more vectors than may be in memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The vectors of a column at one moment, and the ids of their rows.

    origin: that of the table, see `State`. since: every transaction before this one has ended, so that all other changes
    are in rows with this number or a larger one in the column CHANGED.
    """

    origin: str
    since: int
    ids: NDArray[np.bytes_]
    scan: VectorScan

    def candidates(self, queries: Floats, count: int) -> tuple[list[str], list[float]]:
        """Return the ids of the `count` best rows of all queries, and per query a score that no other row reaches."""
        best = list(self.scan.each_best(queries, count))
        rows = np.unique(np.concatenate([found for found, _ in best]))
        least = [float(scores.min()) if len(scores) < len(self.scan) else -np.inf for _, scores in best]
        return [id.decode() for id in self.ids[rows].tolist()], least


class HeldVectors:
    """A snapshot per column, loaded by a thread once this process has searched repeatedly, and again after many changes.

    A program that searches once or twice is answered by the server, which is faster than loading. most_values: of a
    snapshot.
    """

    def __init__(self, *, most_values: int) -> None:
        self._most = most_values
        self._held: dict[str, Snapshot] = {}
        self._searches: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._next_try: dict[tuple[str, str], float] = {}
        self._loading: threading.Thread | None = None

    def get(self, state: State, column: str, read: Read) -> Snapshot | None:
        """Return the snapshot of the current table; None if there is none yet. read: runs an action on a connection."""
        held = self._held.get(column)
        if held is not None and held.origin == state.origin:
            return held
        if self._searches[state.origin, column] >= SEARCHES_BEFORE:
            self.load(state, column, read)
        self._searches[state.origin, column] += 1
        return None

    def load(self, state: State, column: str, read: Read) -> None:
        """Start a thread that loads a new snapshot, unless one runs or has just run."""
        key = state.origin, column
        with self._lock:
            waits = self._loading is not None or time.monotonic() < self._next_try.get(key, 0.0)
            # Changes in a table of an earlier version could not be seen.
            if waits or CHANGED in state.missing:
                return
            work = threading.Thread(target=self._load, args=(state, column, read), name="load", daemon=True)
            try:
                work.start()
            except RuntimeError as error:  # the system lacks memory for a thread; the server still answers
                log.warning("the vectors of the collection cannot be held in memory: %s", error)
                self._next_try[key] = time.monotonic() + SECONDS_BETWEEN_TRIES
            else:
                self._loading = work

    def wait(self) -> None:
        """Wait for the end of a load that has begun."""
        loading = self._loading
        if loading is not None:
            loading.join()

    def _load(self, state: State, column: str, read: Read) -> None:
        began, pause = time.monotonic(), SECONDS_BETWEEN_TRIES
        try:
            snapshot = read(lambda connection: read_snapshot(connection, state, column, self._most))
            if snapshot is None:
                self._held.pop(column, None)
            else:
                self._held[column] = snapshot
                pause = (time.monotonic() - began) * (1 / RELOAD_SHARE - 1)
        except TooLarge:
            self._held.pop(column, None)
            pause = SECONDS_UNTIL_SMALLER
        except Exception as error:  # the server still answers, or a search will tell why it does not
            log.warning("the vectors of the collection cannot be held in memory: %s", error)
        finally:
            with self._lock:
                self._loading = None
                self._next_try[state.origin, column] = time.monotonic() + pause


def read_snapshot(connection: Connection, state: State, column: str, most_values: int) -> Snapshot | None:
    """Return the vectors of a column; None if there are none. Raises TooLarge if there are too many."""
    dim, names = state.header.dim, {"table": sql.Identifier(state.table), "column": sql.Identifier(column)}
    most = most_values // dim
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        since, rows = connection.execute(sql.SQL(COUNT).format(**names), [most + 1]).fetchone() or (0, 0)
        if rows > most:
            raise TooLarge
        if not rows:
            return None
        vectors: Halves = np.empty((rows, dim), np.float16)
        ids: list[bytes] = []
        every = "SELECT id, halfvec_send({column}) FROM {table} WHERE {column} IS NOT NULL"
        with connection.cursor("held", binary=True) as cursor:
            cursor.execute(sql.SQL(every).format(**names))
            while page := cursor.fetchmany(PAGE):
                content = np.frombuffer(b"".join([vector for _, vector in page]), np.uint8)
                values = np.ascontiguousarray(content.reshape(len(page), -1)[:, HEAD:]).view(">f2")
                vectors[len(ids) : len(ids) + len(page)] = values
                ids += [id.encode() for id, _ in page]
    return Snapshot(state.origin, since, np.array(ids), VectorScan(vectors))
