"""The state of a collection in the database: its table and its header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Cursor, sql
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.migrations import is_prepared
from lingvis.collection.stores.postgres.rows import CHANGED, create_table
from lingvis.collection.stores.records import FORMAT, LATER_COLUMNS, Header
from lingvis.errors import UserError

# An index that is being built, or that a killed build has left, is not valid.
SELECT = """
    SELECT header, name, to_regclass(name)::oid || ' ' || pg_postmaster_start_time(),
        ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(name) AND attnum > 0),
        ARRAY(SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE indrelid = to_regclass(name) AND indisvalid)
    FROM (SELECT header, 'lingvis_items_' || table_number AS name FROM lingvis_collections WHERE name = %s) AS found
"""


@dataclass(frozen=True, slots=True)
class State:
    """The current table, the header of its model, columns that the table of an earlier version lacks, and its indexes.

    origin: the number of the table in the database and the start of the server. A table or a server that was restored from a
    backup has another one, and may count transactions from the beginning.
    """

    table: str
    origin: str
    header: Header
    missing: tuple[str, ...] = ()
    indexes: frozenset[str] = frozenset()


def exists(connection: Connection, address: Address) -> bool:
    """Return whether the collection exists."""
    return is_prepared(connection) and connection.execute(SELECT, [address.collection]).fetchone() is not None


def read_state(connection: Connection, address: Address) -> State:
    """Read table and header; a rebuild changes the table, and maybe the model."""
    return to_state(look(connection, address).fetchone(), address)


def look(connection: Connection, address: Address) -> Cursor[tuple[Any, ...]]:
    """Ask for what `to_state` reads; in a pipeline, the answer comes with that to the next statement."""
    return connection.execute(SELECT, [address.collection])


def to_state(row: tuple[Any, ...] | None, address: Address) -> State:
    """Return the state in an answer to `look`; raises UserError if it is missing or damaged."""
    if row is None:
        raise missing(address)
    fields, table, origin, columns, indexes = row
    if isinstance(fields, dict) and fields.get("format", FORMAT) != FORMAT:
        raise UserError(
            f"{address.shown} has collection format {fields['format']!r}, this version reads {FORMAT}; upgrade lingvis, "
            "or index the pictures into a new collection"
        )
    try:
        header = Header.model_validate(fields)
    except ValidationError as error:
        raise UserError(
            f"the header of {address.shown} is damaged; restore a backup, or encode all pictures again (rebuild)"
        ) from error
    if origin is None:
        raise UserError(
            f"{address.shown} is damaged (its table {table} is gone); restore a backup, or encode all pictures again "
            "(rebuild)"
        )
    lacking = tuple(name for name in (*LATER_COLUMNS, CHANGED) if name not in columns)
    return State(table, origin, header, lacking, frozenset(indexes))


def missing(address: Address) -> UserError:
    """Return the error for a missing collection."""
    return UserError(
        f"no collection at {address.shown}; make one with: lingvis index '{address.shown}' FOLDER --model RUN"
    )


def create(connection: Connection, address: Address, header: Header) -> None:
    """Make an empty table and drop the previous one."""
    row = connection.execute(SELECT, [address.collection]).fetchone()
    _enter(
        connection,
        address,
        header,
        "UPDATE SET table_number = excluded.table_number, header = excluded.header",
    )
    if row is not None:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(row[1])))


def add(connection: Connection, address: Address, header: Header) -> None:
    """Make an empty table unless there is one; a second process waits for the first."""
    _enter(connection, address, header, "NOTHING")


def _enter(connection: Connection, address: Address, header: Header, otherwise: LiteralString) -> None:
    (number,) = connection.execute("SELECT nextval('lingvis_table_number')").fetchone() or (0,)
    entered = connection.execute(
        "INSERT INTO lingvis_collections (name, table_number, header) VALUES (%s, %s, %s) "
        f"ON CONFLICT (name) DO {otherwise} RETURNING name",
        [address.collection, number, Jsonb(header.model_dump())],
    )
    if entered.fetchone() is not None:
        connection.execute(create_table(f"lingvis_items_{number}", header.dim))


def write_header(connection: Connection, address: Address, header: Header) -> None:
    """Store another header."""
    connection.execute(
        "UPDATE lingvis_collections SET header = %s WHERE name = %s",
        [Jsonb(header.model_dump()), address.collection],
    )
