"""A collection on a PostgreSQL server with pgvector."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import psycopg
from psycopg import sql

from lingvis.arrays import Floats
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.exact import EXACT_VALUES
from lingvis.collection.stores.postgres import hnsw
from lingvis.collection.stores.postgres import state as states
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.albums import DatabaseAlbums
from lingvis.collection.stores.postgres.browsing import Browser
from lingvis.collection.stores.postgres.care import build_due
from lingvis.collection.stores.postgres.connection import Connection, ConnectionPool, Result, ask
from lingvis.collection.stores.postgres.held import HeldVectors
from lingvis.collection.stores.postgres.lock import Writer
from lingvis.collection.stores.postgres.migrations import migrate
from lingvis.collection.stores.postgres.rows import (
    COLUMNS,
    add_columns,
    names,
    read_columns,
    to_columns,
    to_info,
    to_item,
    to_vector,
    upsert_rows,
)
from lingvis.collection.stores.postgres.search import Rows, Searcher, Statement
from lingvis.collection.stores.records import (
    CAPTION_EMBEDDING,
    EMBEDDING,
    FILE_COLUMNS,
    INFO_COLUMNS,
    Filter,
    FolderCount,
    Header,
    Hit,
    Item,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
    StoredFile,
)
from lingvis.errors import UserError

PAGE = 10_000  # rows of `files` at a time: no long transaction, and a restart costs one page
CHUNK = 1000  # rows per statement


class PostgresStore:
    """A row of lingvis_collections and the table that it names; a rebuild starts a new table.

    exact_values: rows x dim up to which search compares every row, in the memory of a process that searches repeatedly.
    """

    def __init__(self, address: Address, *, exact_values: int = EXACT_VALUES) -> None:
        def look(connection: Connection) -> states.State:
            if not states.exists(connection, address):
                raise states.missing(address)
            migrate(connection, address)
            return states.read_state(connection, address)

        self._address, self._exact_values = address, exact_values
        self._state = ask(address, look)
        self._pool = ConnectionPool(address)
        self._held = HeldVectors(most_values=exact_values)
        self._writer: Writer | None = None
        self._wants_care = False

    @classmethod
    def create(
        cls, address: Address, header: Header, *, replace: bool = True, exact_values: int = EXACT_VALUES
    ) -> PostgresStore:
        """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged."""
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
        return cls(address, exact_values=exact_values)

    @staticmethod
    def exists(address: Address) -> bool:
        """Return whether there is a collection."""
        return ask(address, lambda connection: states.exists(connection, address))

    @property
    def header(self) -> Header:
        """The header that was last read."""
        return self._state.header

    @property
    def albums(self) -> DatabaseAlbums:
        """The albums of the collection."""
        return DatabaseAlbums(self._address, self._pool)

    def replace_header(self, header: Header) -> None:
        """Store another header; unless only the path of the model differs, no other process may write until the end."""
        with self._writing() as writer:
            if header != self.header.model_copy(update={"model": header.model}):
                writer.alone()
            writer.run(lambda connection: states.write_header(connection, self._address, header))
        self._state = replace(self._state, header=header)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Context for all writes; several processes may write unless one rebuilds or changes the model."""
        self._writer, self._wants_care = Writer(self._address), False
        try:
            self._writer.run(self._refresh)
            self._writer.run(self._add_columns)
            yield
        finally:
            self._writer.close()
            self._writer = None
        if self._wants_care:
            ask(self._address, self._care, seconds=None)  # building an index may take an hour

    def files(self) -> Iterator[StoredFile]:
        """Yield every row."""
        select = sql.SQL("SELECT {columns} FROM {table} WHERE id > %s ORDER BY id LIMIT %s")
        columns, last = names(FILE_COLUMNS), ""

        def after(state: states.State) -> Statement:
            return select.format(columns=columns, table=sql.Identifier(state.table)), [last, PAGE]

        while rows := self._fetch(after):
            yield from (StoredFile(*map(from_text, row)) for row in rows)
            last = rows[-1][0]

    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows or replace rows with the same id."""

        def insert(connection: Connection, table: str) -> None:
            missing = self._state.missing
            columns = to_columns(items, missing)
            with connection.cursor() as cursor:
                for start in range(0, len(columns[0]), CHUNK):
                    cursor.execute(
                        upsert_rows(table, missing), [column[start : start + CHUNK] for column in columns]
                    )

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
        """Return whole rows."""
        return [to_item(row) for row in self._among(ids, list(COLUMNS))]

    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Return embeddings by id."""
        rows = self._among(ids, ["id", CAPTION_EMBEDDING if captions else EMBEDDING])
        return {from_text(id): to_vector(half) for id, half in rows if half is not None}

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture."""
        return next((to_info(row) for row in self._among([id], INFO_COLUMNS)), None)

    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of pictures."""
        return [to_info(row) for row in self._among(ids, INFO_COLUMNS)]

    def having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the pictures with these contents."""
        return [to_info(row) for row in self._among(hashes, INFO_COLUMNS, "hash")]

    def thumbnail(self, id: str) -> bytes | None:
        """Return the thumbnail of one picture."""
        return next((bytes(row[0]) for row in self._among([id], ["thumbnail"])), None)

    def count(self, *, once: bool = False) -> int:
        """Return the number of rows."""
        return self._browse(lambda browser: browser.count(Filter(once=once)))

    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        return self._browse(lambda browser: browser.statistics())

    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Return the best rows per query: exact by vectors in memory, by the index that `maintain` builds, or row by row.

        The first searches of a process start no load, and later ones do not wait for it.
        """
        column = CAPTION_EMBEDDING if captions else EMBEDDING
        searcher = Searcher(self._fetch, column)
        if (held := self._held.get(self._state, column, self._pool.read)) is not None:
            found, outdated = searcher.in_memory(held, queries, k, offset, where)
            if outdated:
                self._held.load(self._state, column, self._pool.read)
            if found is not None:
                return found
        if hnsw.index_name(self._state.table, column) in self._state.indexes:
            return searcher.by_index(queries, k, offset, where)
        return searcher.exactly(queries, k, offset, where)

    def wait_for_load(self) -> None:
        """Wait until vectors that are being loaded are in memory."""
        self._held.wait()

    def maintain(self) -> None:
        """Build the indexes that are due, at the end of the current writing.

        Adding a row to an index costs the server 2 ms (1024 values), building the index 0.4 ms per row: a first load of
        40,000 rows took 44 s with the index built midway, and 20 s with the index built at its end.
        """
        with self._writing():
            self._wants_care = True

    def _care(self, connection: Connection) -> None:
        build_due(connection, self._address, (EMBEDDING, CAPTION_EMBEDDING), exact_values=self._exact_values)
        self._refresh(connection)

    def browse(self, *, k: int, offset: int = 0, where: Filter) -> list[PictureInfo]:
        """Return the newest rows."""
        return self._browse(lambda browser: browser.page(k, offset, where))

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        return self._browse(lambda browser: browser.timeline(where))

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        return self._browse(lambda browser: browser.folders(where))

    def places(self, where: Filter, *, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        return self._browse(lambda browser: browser.places(where, step))

    def _browse(self, action: Callable[[Browser], Result]) -> Result:
        return self._read(lambda connection, _: action(Browser(connection, self._state)))

    def _add_columns(self, connection: Connection) -> None:
        """Add the columns that a table of an earlier version lacks; a role that may not leaves them out."""
        state = self._state
        if state.missing and hnsw.owns(connection, state.table):
            connection.execute(add_columns(state.table, state.missing))
            self._refresh(connection)

    def _among(self, values: Sequence[str], columns: Sequence[str], key: str = "id") -> Rows:
        select = sql.SQL("SELECT {columns} FROM {table} WHERE {key} = ANY(%s)")
        texts = [to_text(value) for value in values]
        return self._fetch(
            lambda state: (
                select.format(
                    table=sql.Identifier(state.table),
                    columns=read_columns(columns, state.missing),
                    key=sql.Identifier(key),
                ),
                [texts],
            )
        )

    def _fetch(self, make: Callable[[states.State], Statement]) -> Rows:
        """Return the rows that a statement finds in the current table, in one round trip.

        It is made for the state that was last seen, and made again if the answer beside it shows another one.
        """

        def ask(connection: Connection) -> Rows:
            before = self._state
            with contextlib.suppress(psycopg.errors.UndefinedTable):  # a rebuild has replaced it
                with connection.pipeline():
                    looked = states.look(connection, self._address)
                    found = connection.cursor(binary=True).execute(*make(before))
                if self._follow(states.to_state(looked.fetchone(), self._address)) == before:
                    return found.fetchall()
            self._refresh(connection)
            return connection.cursor(binary=True).execute(*make(self._state)).fetchall()

        return self._pool.read(ask)

    def _read(self, action: Callable[[Connection, str], Result]) -> Result:
        return self._pool.read(lambda connection: action(connection, self._refresh(connection)))

    def _write(self, action: Callable[[Connection, str], Result]) -> Result:
        with self._writing() as writer:
            return writer.run(lambda connection: action(connection, self._refresh(connection)))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writer]:
        """Yield the current writer, or a temporary one."""
        with contextlib.nullcontext() if self._writer is not None else self.writing():
            assert self._writer is not None
            yield self._writer

    def _refresh(self, connection: Connection) -> str:
        """Load changes by other processes; returns the current table."""
        return self._follow(states.read_state(connection, self._address)).table

    def _follow(self, state: states.State) -> states.State:
        """Use a state from now on; raises UserError if it belongs to another model."""
        before, self._state = self._state, state
        if state.header.image_fingerprint != before.header.image_fingerprint:
            raise UserError(f"collection {self._address.shown} was rebuilt with another model; open it again")
        return state
