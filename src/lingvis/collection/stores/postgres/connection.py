"""Connections to a PostgreSQL server: clear errors when one cannot be opened, retries while the server restarts."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import psycopg
import psycopg_pool
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict

from lingvis.collection.stores.contract import FullDiskError
from lingvis.collection.stores.postgres import hnsw
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.silence import LimitedConnection, SilentServerError
from lingvis.errors import UserError

PATIENCE = 30.0  # seconds to wait for a server to come back
WAIT = 5.0  # seconds to wait for a free connection before the server is tried directly
CONNECTIONS = 8
# A server that is cut off is noticed within about 30 seconds, also while nothing is sent.
DEFAULTS = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "lingvis",
}
SECONDS_TO_READ = 60  # per statement, unless the address sets statement_timeout
SECONDS_TO_WRITE = 600.0
SECONDS_TO_CANCEL = 5.0  # after its time limit, the server may take this long to report it
# Just-in-time compilation would cost more than it saves; an acknowledged row has to be on the disk; a client that
# vanished must not hold its locks for hours.
SETTINGS = """
    SELECT set_config('jit', 'off', false), set_config('tcp_keepalives_idle', '60', false),
        CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
            THEN set_config('synchronous_commit', 'on', false) END
"""
READING = """
    SELECT milliseconds, set_config('statement_timeout', milliseconds::text, false)
    FROM (SELECT CASE setting WHEN '0' THEN %s ELSE setting::int END AS milliseconds
        FROM pg_settings WHERE name = 'statement_timeout') AS limits
"""
# Candidates are sorted afterwards, so their order need not be strict (strict_order drops late ones).
SEARCHING = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', false), set_config('hnsw.ef_search', %s, false),
        set_config('hnsw.max_scan_tuples', %s, false)
"""
ADVICE = {
    "password": "give it in the address, in the variable PGPASSWORD or in the file ~/.pgpass",
    "does not exist": "create it (see docs/guide/postgres.md), or name another one",
    "": "check the address, and that the server runs and accepts you",
}

Connection = LimitedConnection
Result = TypeVar("Result")

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # our messages replace its warnings


def connect(address: Address) -> Connection:
    """Open a first connection; raises a UserError that explains problems with the address or the server."""
    try:
        return open_connection(address)
    except psycopg.ProgrammingError as error:
        raise UserError(
            f"{address.shown} has unknown options; only collection and options of libpq may "
            "follow the question mark"
        ) from error
    except psycopg.OperationalError as error:
        reason = _reason(error)
        advice = next(advice for sign, advice in ADVICE.items() if sign in reason)
        raise UserError(f"cannot connect to {address.shown} ({reason}); {advice}") from error


def ask(
    address: Address, action: Callable[[Connection], Result], *, seconds: float | None = SECONDS_TO_WRITE
) -> Result:
    """Run an idempotent action on a separate connection; seconds: for one statement, None for no limit."""

    def attempt() -> Result:
        with connect(address) as connection:
            connection.seconds = seconds
            return action(connection)

    return patiently(attempt, address)


def open_connection(address: Address) -> Connection:
    """Open a connection in which every statement commits separately; raises errors of psycopg."""
    connection = LimitedConnection.connect(address.conninfo, **_options(address))
    connection.execute(SETTINGS)
    connection.seconds = SECONDS_TO_WRITE
    return connection


def patiently(attempt: Callable[[], Result], address: Address) -> Result:
    """Retry an idempotent action while the server is away or another writer conflicts with it."""
    end, pause = time.monotonic() + PATIENCE, 0.02
    while True:
        try:
            return attempt()
        except (SilentServerError, psycopg.errors.ConnectionTimeout) as error:
            raise UserError(
                f"the server of {address.shown} does not answer ({_reason(error)}); check it and the network, or "
                "restart it, and try again"
            ) from error
        except psycopg.Error as error:
            if not _passes(error):
                raise _explained(error, address) from error
            if time.monotonic() + pause > end:
                raise _given_up(error, address) from error
        time.sleep(pause)
        pause = min(2 * pause, 1.0)


class ConnectionPool:
    """Connections for reading, shared by threads; the pool is replaced after the server was away."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock, self._away, self._used = threading.Lock(), False, 0
        self._fill()

    def read(self, action: Callable[[Connection], Result]) -> Result:
        """Run an action; every statement commits separately."""

        def attempt() -> Result:
            if self._away:
                self._renew()
            try:
                with self._pool.connection(timeout=min(WAIT, PATIENCE)) as connection, self._using():
                    return action(connection)
            except psycopg_pool.PoolTimeout as error:
                if self._used >= CONNECTIONS:  # the server runs, but our other queries use all connections
                    raise psycopg.errors.TooManyConnections(f"all {CONNECTIONS} are in use") from error
                self._away = True
                raise
            except psycopg.OperationalError as error:
                self._away = self._away or _lost(error)
                raise

        return patiently(attempt, self._address)

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        with self._lock:
            self._used += 1
        try:
            yield
        finally:
            with self._lock:
                self._used -= 1

    def _fill(self) -> None:
        self._pool: psycopg_pool.ConnectionPool[Connection] = psycopg_pool.ConnectionPool(
            self._address.conninfo,
            kwargs=_options(self._address),
            connection_class=LimitedConnection,
            configure=_configure,
            min_size=0,
            max_size=CONNECTIONS,
            num_workers=1,
            open=True,
        )
        self._close = weakref.finalize(self, self._pool.close, 1.0)

    def _renew(self) -> None:
        """Connect directly: the pool would wait longer and longer between attempts."""
        open_connection(self._address).close()
        with self._lock:
            if self._away:
                self._close()
                self._fill()
                self._away = False


def _configure(connection: Connection) -> None:
    register_vector(connection)
    connection.execute(SETTINGS)
    connection.execute(SEARCHING, [str(hnsw.IN_VIEW), str(hnsw.SCANNED)])
    milliseconds, _ = connection.execute(READING, [1000 * SECONDS_TO_READ]).fetchone() or (0, "")
    connection.seconds = milliseconds / 1000 + SECONDS_TO_CANCEL


def _options(address: Address) -> dict[str, Any]:
    given = conninfo_to_dict(address.conninfo)
    defaults = {name: value for name, value in DEFAULTS.items() if name not in given}
    return {**defaults, "client_encoding": "utf8", "autocommit": True, "prepare_threshold": None}


def _passes(error: psycopg.Error) -> bool:
    """Return whether the next attempt may succeed.

    40: deadlocks and serialization failures, 53300: too many connections, 42P01: the table was replaced by a rebuild.
    """
    return _lost(error) or (error.sqlstate or "").startswith(("40", "53300", "42P01"))


def _lost(error: psycopg.Error) -> bool:
    """Return whether the connection is lost (08) or the server is stopping or starting (57P)."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(("08", "57P"))


def _explained(error: psycopg.Error, address: Address) -> Exception:
    """Convert rejections by the server into a UserError; other errors are bugs and stay unchanged."""
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return UserError(
            f"the role in {address.shown} lacks a permission ({_reason(error)}); see docs/guide/postgres.md"
        )
    if isinstance(error, psycopg.errors.DiskFull):
        return FullDiskError(
            f"the disk of the server of {address.shown} is full ({_reason(error)}); free some space"
        )
    if isinstance(error, psycopg.OperationalError | psycopg.errors.ReadOnlySqlTransaction):
        return UserError(f"the server of {address.shown} cannot do this now: {_reason(error)}")
    return error


def _given_up(error: psycopg.Error, address: Address) -> UserError:
    """Return the error after the last attempt."""
    if _lost(error):
        return UserError(
            f"the server of {address.shown} went away and did not come back within {PATIENCE:.0f} seconds "
            f"({_reason(error)}); start it and try again"
        )
    return UserError(
        f"the server of {address.shown} was too busy for {PATIENCE:.0f} seconds ({_reason(error)}); try again "
        "later"
    )


def _reason(error: psycopg.Error) -> str:
    """Return the reason on one line."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(text.rpartition("FATAL:")[2].removeprefix("connection failed:").split())
