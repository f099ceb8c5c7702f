"""When the search indexes of a collection are built, and by which process."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from lingvis.collection.stores.postgres import hnsw
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.lock import is_written, joins, takes_care
from lingvis.collection.stores.postgres.state import read_state


def build_due(connection: Connection, address: Address, columns: Sequence[str], *, exact_values: int) -> None:
    """Build the indexes of columns that hold more than `exact_values` values.

    Does nothing while other processes write (the last of them builds), while another process builds, or if the role
    lacks the permission.
    """
    state = read_state(connection, address)
    table, dim = state.table, state.header.dim
    allowed = dim <= hnsw.LONGEST and hnsw.owns(connection, table)
    if not allowed or is_written(connection, address) or not takes_care(connection, address):
        return
    for column in columns:
        if hnsw.index_name(table, column) in state.indexes:
            continue
        count = sql.SQL("SELECT count({}) FROM {}").format(*map(sql.Identifier, (column, table)))
        (rows,) = connection.execute(count).fetchone() or (0,)
        if rows * dim > exact_values and joins(connection, address):
            hnsw.build(connection, table, column, dim=dim, rows=rows)
    # Otherwise the server would learn only minutes later how many rows there are, and read all of them until then.
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))
