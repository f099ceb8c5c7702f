"""When the search index of a collection is built, and by whom."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from lingvis.collection.stores.postgres import hnsw
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.lock import is_written, joins, takes_care
from lingvis.collection.stores.postgres.state import read_state


def build_due(connection: Connection, address: Address, columns: Sequence[str], *, exact_values: int) -> None:
    """Build the indexes of columns that hold more than so many values, anew where they have become too many for theirs.

    Passed over where others still write, of whom the last will come here, too; where another process is at it; and where
    the role may not.
    """
    state = read_state(connection, address)
    table, dim = state.table, state.header.dim
    allowed = dim <= hnsw.LONGEST and hnsw.owns(connection, table)
    if not allowed or is_written(connection, address) or not takes_care(connection, address):
        return
    there = hnsw.indexes(connection, table)
    for column in columns:
        graph = there.get(hnsw.index_name(table, column))
        if graph == hnsw.DENSE:
            continue
        held = sql.SQL("SELECT count({}) FROM {}").format(*map(sql.Identifier, (column, table)))
        (rows,) = connection.execute(held).fetchone() or (0,)
        if graph != hnsw.graph_for(rows) and rows * dim > exact_values and joins(connection, address):
            hnsw.build(connection, table, column, dim=dim, rows=rows)
