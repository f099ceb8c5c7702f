"""A collection on a PostgreSQL server with pgvector."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from psycopg import sql

from lingvis.collection.stores.contract import Entry, Filter, Floats, Header, Hit, Item, Known, Statistics
from lingvis.collection.stores.postgres import hnsw
from lingvis.collection.stores.postgres import state as states
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.care import build_due
from lingvis.collection.stores.postgres.connection import Connection, Pool, Result, ask
from lingvis.collection.stores.postgres.lock import Writer
from lingvis.collection.stores.postgres.migrations import migrate
from lingvis.collection.stores.postgres.rows import (
    COLUMNS,
    ENTRY,
    from_text,
    names,
    to_columns,
    to_entry,
    to_item,
    to_text,
    to_vector,
    upsert_rows,
)
from lingvis.collection.stores.postgres.search import Searcher
from lingvis.errors import UserError

# Every row is compared up to here. Measured with 30,000 x 1024 on 2 cores: 38 ms a query, against 10 ms with the index,
# which takes 16 s to build; beyond, comparing alone would use up the 50 ms that a question may take.
EXACT_VALUES = 30_000_000
PICTURES, NOTES = "embedding", "note_embedding"
KNOWN = ["id", "path", "hash", "size", "mtime_ns", "note"]
PAGE = 10_000  # rows of `known` at a time: no long transaction, and a restart costs one page
CHUNK = 1000  # rows of one statement


class PostgresStore:
    """A row of lingvis_collections, which names the table in use, and that table; a rebuild starts a new one."""

    def __init__(self, address: Address) -> None:
        def look(connection: Connection) -> states.State:
            if not states.exists(connection, address):
                raise states.missing(address)
            migrate(connection, address)
            return states.read_state(connection, address)

        self._address = address
        self._state = ask(address, look)
        self._pool = Pool(address)
        self._writer: Writer | None = None
        self._wants_care = False

    @classmethod
    def create(cls, address: Address, header: Header, *, replace: bool = True) -> PostgresStore:
        """A new empty collection; one that is there is emptied, or kept unless it is to be replaced."""
        ask(address, lambda connection: migrate(connection, address))
        if replace or not cls.exists(address):
            writer = Writer(address)
            try:
                if replace:
                    writer.alone()
                enter = states.create if replace else states.add
                writer.run(lambda connection: enter(connection, address, header))
            finally:
                writer.close()
        return cls(address)

    @staticmethod
    def exists(address: Address) -> bool:
        """Whether there is a collection."""
        return ask(address, lambda connection: states.exists(connection, address))

    @property
    def header(self) -> Header:
        """The model that fills the collection."""
        return self._state.header

    def replace_header(self, header: Header) -> None:
        """Remember another model; unless only its place is another, nobody else may write until the end."""
        with self._writing() as writer:
            if header != self.header.model_copy(update={"model": header.model}):
                writer.alone()
            writer.run(lambda connection: states.write_header(connection, self._address, header))
        self._state = states.State(self._state.table, header)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold this around all writes; several processes may, unless one rebuilds or changes the model."""
        self._writer, self._wants_care = Writer(self._address), False
        try:
            self._writer.run(self._refresh)
            yield
        finally:
            self._writer.close()
            self._writer = None
        if self._wants_care:
            ask(self._address, self._care)

    def known(self) -> Iterator[Known]:
        """Every row."""
        select = sql.SQL("SELECT {columns} FROM {table} WHERE id > %s ORDER BY id LIMIT %s")
        last = ""
        while rows := self._rows(select, last, PAGE, columns=names(KNOWN)):
            yield from (Known(*map(from_text, row)) for row in rows)
            last = rows[-1][0]

    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows or replace those of the same id."""
        columns = to_columns(items)

        def insert(connection: Connection, table: str) -> None:
            with connection.cursor() as cursor:
                for start in range(0, len(columns[0]), CHUNK):
                    cursor.execute(upsert_rows(table), [column[start : start + CHUNK] for column in columns])

        self._write(insert)

    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows."""
        # Locked in the order of ids, as by `upsert`.
        drop = sql.SQL(
            "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE id = ANY(%s) ORDER BY id FOR UPDATE)"
        )
        if ids:
            self._write(
                lambda connection, table: connection.execute(
                    drop.format(sql.Identifier(table)), [[to_text(id) for id in ids]]
                )
            )

    def items(self, ids: Sequence[str]) -> list[Item]:
        """Whole rows."""
        return [to_item(row) for row in self._among(ids, list(COLUMNS))]

    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Embeddings by id."""
        rows = self._among(ids, ["id", "note_embedding" if captions else "embedding"])
        return {from_text(id): to_vector(half) for id, half in rows if half is not None}

    def entry(self, id: str) -> Entry | None:
        """What is known of one picture."""
        return next((to_entry(row) for row in self._among([id], ENTRY)), None)

    def thumbnail(self, id: str) -> bytes | None:
        """JPEG of one picture."""
        return next((bytes(row[0]) for row in self._among([id], ["thumbnail"])), None)

    def count(self) -> int:
        """Number of rows."""
        return int(self._rows(sql.SQL("SELECT count(*) FROM {table}"))[0][0])

    def statistics(self) -> Statistics:
        """Numbers for people."""
        sums = sql.SQL(
            "SELECT format, count(*), count(note), sum(size), min(date), max(date) FROM {table} GROUP BY 1 ORDER BY 1"
        )
        rows = self._rows(sums)
        return Statistics(
            pictures=sum(row[1] for row in rows),
            notes=sum(row[2] for row in rows),
            bytes=int(sum(row[3] for row in rows)),
            formats={from_text(row[0]): row[1] for row in rows},
            first=min((row[4] for row in rows), default=None),
            last=max((row[5] for row in rows), default=None),
        )

    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Best rows of each query: by the index once `maintain` has built it, else by comparing every row."""
        column = NOTES if captions else PICTURES

        def ask(connection: Connection, table: str) -> list[list[Hit]]:
            graph = hnsw.indexes(connection, table).get(hnsw.index_name(table, column))
            searcher = Searcher(connection, table, column, self.header.dim)
            if graph is None:
                return searcher.exactly(queries, k, offset, where)
            return searcher.by_index(queries, k, offset, where, candidates=graph.candidates)

        return self._read(ask)

    def maintain(self) -> None:
        """Build the indexes that are due, once the writing that goes on is over.

        A row that comes after the index costs the server 2 ms (1024 values), one that was there 0.4 ms: a first load
        with the index in its middle took 44 s for 40,000 rows, with the index at its end 20 s.
        """
        with self._writing():
            self._wants_care = True

    def _care(self, connection: Connection) -> None:
        build_due(connection, self._address, (PICTURES, NOTES), exact_values=EXACT_VALUES)

    def _among(self, ids: Sequence[str], columns: Sequence[str]) -> list[tuple[Any, ...]]:
        select = sql.SQL("SELECT {columns} FROM {table} WHERE id = ANY(%s)")
        return self._rows(select, [to_text(id) for id in ids], columns=names(columns))

    def _rows(self, query: sql.SQL, *values: object, **parts: sql.Composable) -> list[tuple[Any, ...]]:
        def fetch(connection: Connection, table: str) -> list[tuple[Any, ...]]:
            cursor = connection.cursor(binary=True)
            return cursor.execute(query.format(table=sql.Identifier(table), **parts), values).fetchall()

        return self._read(fetch)

    def _read(self, action: Callable[[Connection, str], Result]) -> Result:
        return self._pool.read(lambda connection: action(connection, self._refresh(connection)))

    def _write(self, action: Callable[[Connection, str], Result]) -> Result:
        with self._writing() as writer:
            return writer.run(lambda connection: action(connection, self._refresh(connection)))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writer]:
        """The writer at work, else one for this step alone."""
        with contextlib.nullcontext() if self._writer is not None else self.writing():
            assert self._writer is not None
            yield self._writer

    def _refresh(self, connection: Connection) -> str:
        """See what other processes have changed; gives the table in use."""
        before, self._state = self._state, states.read_state(connection, self._address)
        if self.header.image_fingerprint != before.header.image_fingerprint:
            raise UserError(f"collection {self._address.shown} was rebuilt with another model; open it again")
        return self._state.table
