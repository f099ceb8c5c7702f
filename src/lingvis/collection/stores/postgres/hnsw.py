"""The HNSW index of a column of vectors: built while others read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from lingvis.collection.stores.postgres.connection import Connection

LONGEST = 4000  # values of a vector that pgvector can index
ROW_BYTES, LINK_BYTES = 250, 16  # per row of the graph without its vector, and per link
MOST_MEMORY = 4 * 2**30
# As much memory as the graph needs, but at most 4 GB unless the administrator allows more; no time limit.
BUILDING = """
    SELECT set_config('max_parallel_maintenance_workers', current_setting('max_parallel_workers'), false),
        set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
        set_config('maintenance_work_mem', greatest(setting::bigint, %s)::text, false)
    FROM pg_settings WHERE name = 'maintenance_work_mem'
"""
NEIGHBOURS, VISITED = 24, 64  # per row of the graph; rows that are visited to find them
IN_VIEW = 600  # rows that a search has in view at a time: more find more of the best, in as much more time
SCANNED = 20_000  # rows of the index that may be visited until enough have passed a filter


def index_name(table: str, column: str) -> str:
    """Return the name of the index of a column."""
    return f"{table}_{column}_hnsw"


def owns(connection: Connection, table: str) -> bool:
    """Return whether the role may build indexes."""
    row = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s)", [table]
    ).fetchone()
    return row is not None and bool(row[0])


def build(connection: Connection, table: str, column: str, *, dim: int, rows: int) -> None:
    """Build the index of a column; replaces an unfinished one."""
    name = index_name(table, column)
    # Twice as many links as neighbours at the base of the graph, where all rows are; the levels above are small.
    row_bytes = 2 * dim + ROW_BYTES + 2 * NEIGHBOURS * LINK_BYTES
    connection.execute(BUILDING, [min(rows * row_bytes, MOST_MEMORY) // 1024])
    try:
        _create(connection, name, table, column)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Parallel workers need shared memory, of which a container may have too little; one process needs none.
        connection.execute("SET max_parallel_maintenance_workers = 0")
        _create(connection, name, table, column)


def _create(connection: Connection, name: str, table: str, column: str) -> None:
    """Create the index beside an existing one, which is used until then."""
    parts: dict[str, Any] = {
        key: sql.Identifier(value)
        for key, value in {"name": name, "next": f"{name}_next", "table": table, "column": column}.items()
    }
    connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {next}").format(**parts))
    connection.execute(
        sql.SQL(
            "CREATE INDEX CONCURRENTLY {next} ON {table} USING hnsw ({column} halfvec_ip_ops) WITH (m = {m}, "
            "ef_construction = {ef})"
        ).format(**parts, m=sql.Literal(NEIGHBOURS), ef=sql.Literal(VISITED))
    )
    with connection.transaction():
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {name}").format(**parts))
        connection.execute(sql.SQL("ALTER INDEX {next} RENAME TO {name}").format(**parts))
