"""Locks for writing to a collection on a server: several writers together, or one alone."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable

import psycopg
from pgvector.psycopg import register_vector
from psycopg import sql

from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection, Result, open_connection, patiently
from lingvis.errors import UserError

SHARED, ALONE = "pg_try_advisory_lock_shared", "pg_try_advisory_lock"
HOLDERS = """
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = %s
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Writer:
    """A connection that holds the collection's lock; a lost connection is opened and locked again."""

    def __init__(self, address: Address) -> None:
        self._address, self._alone = address, False
        self._connection: Connection | None = None
        self.run(lambda _: None)

    def alone(self) -> None:
        """Exclude all other writers until the end; raises UserError if another process is writing."""
        self.run(lambda connection: self._lock(connection, ALONE))
        self._alone = True

    def run(self, action: Callable[[Connection], Result]) -> Result:
        """Run an idempotent action in one transaction."""

        def attempt() -> Result:
            if self._connection is None or self._connection.closed:
                self._connection = self._join()
            with self._connection.transaction():
                return action(self._connection)

        return patiently(attempt, self._address)

    def close(self) -> None:
        """Release the lock."""
        if self._connection is not None:
            # The server notices the end of a connection late; the next process must get the lock at once.
            with contextlib.suppress(psycopg.Error):
                self._connection.execute("SELECT pg_advisory_unlock_all()")
            self._connection.close()

    def _join(self) -> Connection:
        connection = open_connection(self._address)
        try:
            register_vector(connection)
            self._lock(connection, SHARED)
            if self._alone:
                self._lock(connection, ALONE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Connection, function: str) -> None:
        if not _locked(connection, function, self._address, "write"):
            raise UserError(
                f"another process is writing to {self._address.shown}; wait until it has finished, or stop it"
            )


def takes_care(connection: Connection, address: Address) -> bool:
    """Take the lock for maintenance of the search index; returns False if another process has it."""
    return _locked(connection, ALONE, address, "care")


def joins(connection: Connection, address: Address) -> bool:
    """Take a shared writer lock; returns False if another process writes alone."""
    return _locked(connection, SHARED, address, "write")


def is_written(connection: Connection, address: Address) -> bool:
    """Return whether any process writes to the collection now."""
    return connection.execute(HOLDERS, [_key(address, "write")]).fetchone() is not None


def _locked(connection: Connection, function: str, address: Address, purpose: str) -> bool:
    statement = sql.SQL("SELECT {}(%s)").format(sql.Identifier(function))
    (got,) = connection.execute(statement, [_key(address, purpose)]).fetchone() or (False,)
    return bool(got)


def _key(address: Address, purpose: str) -> int:
    """Return the number of a lock."""
    digest = hashlib.blake2b(f"lingvis/{address.collection}/{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
