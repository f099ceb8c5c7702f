"""A collection in a folder, on SQLite."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lingvis.arrays import Floats
from lingvis.collection.stores.exact import ExactIndex, Reloading
from lingvis.collection.stores.folder.albums import FolderAlbums
from lingvis.collection.stores.folder.header import (
    check_engine,
    check_model,
    create_folder,
    read_header,
    read_stamp,
    write_header,
)
from lingvis.collection.stores.folder.lock import one_writer
from lingvis.collection.stores.folder.trouble import reported
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
from lingvis.collection.stores.sqlite import browsing
from lingvis.collection.stores.sqlite.connection import (
    SUFFIX,
    ConnectionPool,
    create_database,
    open_to_write,
)
from lingvis.collection.stores.sqlite.reading import (
    PassingRows,
    RecentRecords,
    column_names,
    read_infos,
    read_vectors,
    read_version,
)
from lingvis.collection.stores.sqlite.rows import (
    add_columns,
    among,
    from_vector,
    select_columns,
    to_blob,
    to_file,
    to_item,
    to_row,
    to_vector,
    upsert_row,
)
from lingvis.collection.stores.sqlite.trouble import sqlite_errors


@dataclass(frozen=True, slots=True)
class State:
    """A database that collection.json named, with its connections and its rows in memory; stamp: of collection.json."""

    header: Header
    file: Path
    stamp: int
    pool: ConnectionPool
    exact: Reloading[ExactIndex]
    passing: PassingRows
    records: RecentRecords


class SqliteStore:
    """A folder with collection.json and the database that it names; a rebuild starts a new database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.albums = FolderAlbums(folder)
        self._writer: sqlite3.Connection | None = None
        self._opening = threading.RLock()
        with self.errors():
            self._state = self._open()

    @classmethod
    def create(cls, folder: Path, header: Header, *, replace: bool = True) -> SqliteStore:
        """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged."""
        with sqlite_errors(folder):
            create_folder(
                folder,
                header,
                "sqlite",
                lambda table: create_database(folder / f"{table}{SUFFIX}"),
                replace=replace,
            )
        return cls(folder)

    def errors(self) -> AbstractContextManager[None]:
        """Report errors of the engine as sentences."""
        return sqlite_errors(self.folder)

    @property
    def header(self) -> Header:
        """The header that was last read."""
        return self._state.header

    def _open(self) -> State:
        stored = read_header(self.folder)
        check_engine(self.folder, stored.engine, "sqlite")
        file = self.folder / f"{stored.table}{SUFFIX}"
        pool = ConnectionPool(file)
        with pool.reading():
            pass  # raises if it is damaged
        return State(stored.header, file, stored.stamp, pool, Reloading(), PassingRows(), RecentRecords())

    @reported
    def replace_header(self, header: Header) -> None:
        """Store another header; the rows stay."""
        with self._opening:
            write_header(self.folder, header, "sqlite", read_header(self.folder).table)
            self._reopen()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Context for all writes."""
        with one_writer(self.folder):
            with self.errors():
                writer = open_to_write(self._refresh().file)
            try:
                with self.errors():
                    for statement in add_columns(column_names(writer)):
                        writer.execute(statement)
                self._writer = writer
                yield
            finally:
                self._writer = None
                writer.close()

    def files(self) -> Iterator[StoredFile]:
        """Yield every row."""
        with self.errors(), self._reading() as connection:
            for row in connection.execute(f"SELECT {', '.join(FILE_COLUMNS)} FROM pictures"):
                yield to_file(row)

    @reported
    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows or replace rows with the same id."""
        if not items:
            return
        held = {item.info.id: item for item in items}
        with self._changing() as connection:
            connection.executemany(upsert_row(), [to_row(item.info) for item in held.values()])
            numbers = dict(_rows_among(connection, "id, number", "id", list(held)))
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                [
                    (numbers[id], from_vector(item.embedding), from_vector(item.caption_embedding))
                    for id, item in held.items()
                ],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO thumbnails VALUES (?, ?)",
                [(numbers[id], item.thumbnail) for id, item in held.items()],
            )

    @reported
    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows."""
        if not ids:
            return
        with self._changing() as connection:
            numbers = [number for (number,) in _rows_among(connection, "number", "id", ids)]
            for table in ("pictures", "vectors", "thumbnails"):
                clause, parameter = among("number", numbers)
                connection.execute(f"DELETE FROM {table} WHERE {clause}", [parameter])

    @reported
    def items(self, ids: Sequence[str]) -> list[Item]:
        """Return whole rows."""
        with self._reading() as connection:
            info = select_columns(INFO_COLUMNS, column_names(connection))
            columns = f"{info}, jpeg, {EMBEDDING}, {CAPTION_EMBEDDING}"
            rows = _rows_among(
                connection, columns, "id", ids, "JOIN vectors USING (number) JOIN thumbnails USING (number)"
            )
            return [to_item(row, self.header.dim) for row in rows]

    @reported
    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Return embeddings by id."""
        column = CAPTION_EMBEDDING if captions else EMBEDDING
        with self._reading() as connection:
            rows = _rows_among(connection, f"id, {column}", "id", ids, "JOIN vectors USING (number)")
            return {id: to_vector(half, self.header.dim) for id, half in rows if half is not None}

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture."""
        return next(iter(self.infos([id])), None)

    @reported
    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of pictures."""
        with self._reading() as connection:
            return list(read_infos(connection, "id", ids).values())

    @reported
    def having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the pictures with these contents."""
        with self._reading() as connection:
            return list(read_infos(connection, "hash", hashes).values())

    @reported
    def thumbnail(self, id: str) -> bytes | None:
        """Return the thumbnail of one picture."""
        with self._reading() as connection:
            rows = _rows_among(connection, "jpeg", "id", [id], "JOIN thumbnails USING (number)")
            return next((to_blob(jpeg) for (jpeg,) in rows), None)

    @reported
    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Return the best rows per query, compared with every row in memory."""
        column = CAPTION_EMBEDDING if captions else EMBEDDING
        state = self._refresh()
        with state.pool.reading() as connection:
            load = partial(_load, connection, column, state.header.dim)
            version = read_version(connection)
            index = state.exact.get(column, version, load)
            passing = None if where == Filter() else state.passing.get(connection, version, where)
            records = partial(state.records.get, connection, version)
            return index.search(queries, k=k, offset=offset, passing=passing, records=records)

    @reported
    def browse(self, *, k: int, offset: int = 0, where: Filter) -> list[PictureInfo]:
        """Return the newest rows."""
        with self._reading() as connection:
            return browsing.page(connection, k, offset, where)

    @reported
    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        with self._reading() as connection:
            return browsing.timeline(connection, where)

    @reported
    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        with self._reading() as connection:
            return browsing.folders(connection, where)

    @reported
    def places(self, where: Filter, *, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        with self._reading() as connection:
            return browsing.places(connection, where, step)

    @reported
    def count(self, *, once: bool = False) -> int:
        """Return the number of rows."""
        with self._reading() as connection:
            return browsing.count(connection, Filter(once=once))

    @reported
    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        with self._reading() as connection:
            return browsing.statistics(connection)

    @reported
    def maintain(self) -> None:
        """Move what was written from the log to the database, so that the log stays small."""
        if self._writer is not None:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._refresh().pool.reading() as connection:
            yield connection

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Yield the writer's connection inside a transaction, which ends with the next version."""
        assert self._writer is not None, "only inside `writing`"
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer
            self._writer.execute(f"PRAGMA user_version = {(read_version(self._writer) + 1) % 2**31}")
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def _refresh(self) -> State:
        """Follow a rebuild by another process: another database, and maybe another model."""
        if read_stamp(self.folder) != self._state.stamp:
            with self._opening:  # threads share a store
                if read_stamp(self.folder) != self._state.stamp:
                    before = self.header
                    self._reopen()
                    check_model(self.folder, before, self.header)
        return self._state

    def _reopen(self) -> None:
        old, self._state = self._state, self._open()
        old.pool.close()


def _load(connection: sqlite3.Connection, column: str, dim: int) -> tuple[int, ExactIndex]:
    connection.execute("BEGIN")
    version, vectors, numbers = read_vectors(connection, column, dim)
    connection.execute("COMMIT")
    return version, ExactIndex(vectors, numbers)


def _rows_among(
    connection: sqlite3.Connection,
    columns: str,
    key: str,
    values: Sequence[str] | Sequence[int],
    joined: str = "",
) -> list[tuple[Any, ...]]:
    clause, parameter = among(key, values)
    return connection.execute(
        f"SELECT {columns} FROM pictures {joined} WHERE {clause}", [parameter]
    ).fetchall()
