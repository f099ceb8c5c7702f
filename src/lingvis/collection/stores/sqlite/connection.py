"""Connections to the database of a collection, which may come from a stranger."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from lingvis.collection.stores.sqlite.rows import APPLICATION, SCHEMA, check_schema
from lingvis.collection.stores.sqlite.trouble import primary_code
from lingvis.files import NOT_REGULAR, sync

SUFFIX = ".db"
SIDE_FILES = ("-wal", "-shm")
SECONDS_TO_WAIT = 10.0  # for another process that opens or closes the database
LONGEST_VALUE = 1 << 26  # bytes
# The text of a schema runs nothing with effects, and damaged pages are found before they are used.
SAFE = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA temp_store = MEMORY")
# Of a picture that was removed, nothing stays in the file.
WRITING = ("PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON")
READING = ("PRAGMA query_only = ON", "PRAGMA cache_size = -16384")  # KiB


def create_database(file: Path) -> None:
    """Make an empty database and flush it."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in SCHEMA:
            connection.execute(statement)
    sync(file)
    sync(file.parent)


def open_to_write(file: Path) -> sqlite3.Connection:
    """Open the database for the one writer; a change is on the disk once its transaction has ended."""
    return _checked(_connect(file, "mode=rw"), WRITING)


class ConnectionPool:
    """Connections for reading, each used by one thread at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection; what a transaction on it reads is of one moment."""
        try:
            connection, kept = self._idle.pop(), True
        except IndexError:
            connection, kept = self._open()
        try:
            yield connection
        except BaseException:
            kept = False
            raise
        finally:
            if connection.in_transaction:
                connection.rollback()
            if kept and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close all connections; those in use are closed by their threads."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def _open(self) -> tuple[sqlite3.Connection, bool]:
        """Open a connection; returns it, and whether it may be used again."""
        try:
            return _checked(_connect(self._file, "mode=rw"), READING), True
        except sqlite3.OperationalError as error:
            # A folder or disk without permission to write, where SQLite cannot make its side files. Nobody writes if
            # there is no log; a next connection looks again.
            unable = primary_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            log = _side_file(self._file, "-wal")
            if not unable or (log.exists() and log.stat().st_size):
                raise
            try:
                return _checked(_connect(self._file, "mode=ro&immutable=1"), READING), False
            except sqlite3.OperationalError:
                raise error from None


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    _check_files(file)
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=SECONDS_TO_WAIT,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    return connection


def _checked(connection: sqlite3.Connection, settings: tuple[str, ...]) -> sqlite3.Connection:
    """Return the connection; raises ValueError unless the database is one of ours."""
    try:
        for setting in (*SAFE, *settings):
            connection.execute(setting)
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise ValueError("its database is not that of a collection")
        check_schema([text for (text,) in connection.execute("SELECT sql FROM sqlite_master")])
    except BaseException:
        connection.close()
        raise
    return connection


def _check_files(file: Path) -> None:
    """Raise unless there are only regular files: a pipe could block, and a link could lead to any other database.

    They are not opened to see this: closing them would release the locks of other connections.
    """
    for path in (file, *(_side_file(file, end) for end in SIDE_FILES)):
        try:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise ValueError(f"{path.name}: {NOT_REGULAR}")
        except FileNotFoundError:
            if path == file:
                raise ValueError(f"{path.name} is missing") from None


def _side_file(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)
