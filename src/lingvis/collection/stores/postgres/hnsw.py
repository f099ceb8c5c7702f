"""The HNSW index of a column of vectors: built while others read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from lingvis.collection.stores.postgres.connection import Connection

LONGEST = 4000  # values of a vector that pgvector can index
ROW_BYTES, LINK_BYTES = 250, 16  # per row of the graph without its vector, and per link
MOST_MEMORY = 4 * 2**30
INDEXES = """
    SELECT c.relname, i.indisvalid,
        (SELECT option_value::int FROM pg_options_to_table(c.reloptions) WHERE option_name = 'm')
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = to_regclass(%s) AND a.amname = 'hnsw'
"""
# As much memory as the graph needs, but at most 4 GB unless the administrator allows more; no time limit.
BUILDING = """
    SELECT set_config('max_parallel_maintenance_workers', current_setting('max_parallel_workers'), false),
        set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
        set_config('maintenance_work_mem', greatest(setting::bigint, %s)::text, false)
    FROM pg_settings WHERE name = 'maintenance_work_mem'
"""


@dataclass(frozen=True, slots=True)
class Graph:
    """The density of an index: neighbours per row, rows that are visited to find them, and candidates per search."""

    neighbours: int
    visited: int
    candidates: int


# pgvector's default finds 0.989 of the ten nearest among 100,000 rows of 1024 values, but 0.904 among 1,000,000.
USUAL = Graph(neighbours=16, visited=64, candidates=500)
# Among 1,000,000: 0.992, and 0.976 with 500 candidates. It takes 2.6 times as long to build.
DENSE = Graph(neighbours=32, visited=128, candidates=1000)
DENSE_FROM = 200_000  # rows


def graph_for(rows: int) -> Graph:
    """Return the density for a number of rows."""
    return DENSE if rows >= DENSE_FROM else USUAL


def index_name(table: str, column: str) -> str:
    """Return the name of the index of a column."""
    return f"{table}_{column}_hnsw"


def indexes(connection: Connection, table: str) -> dict[str, Graph]:
    """Return the HNSW indexes of a table that can be used; a build that was killed leaves an unusable index."""
    rows = connection.execute(INDEXES, [table])
    return {
        str(name): DENSE if (neighbours or 0) >= DENSE.neighbours else USUAL
        for name, valid, neighbours in rows
        if valid
    }


def owns(connection: Connection, table: str) -> bool:
    """Return whether the role may build indexes."""
    row = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s)", [table]
    ).fetchone()
    return row is not None and bool(row[0])


def build(connection: Connection, table: str, column: str, *, dim: int, rows: int) -> None:
    """Build the index of a column; replaces an unfinished index or one that has become too sparse."""
    name = index_name(table, column)
    graph = graph_for(rows)
    # Twice as many links as neighbours at the base of the graph, where all rows are; the levels above are small.
    row_bytes = 2 * dim + ROW_BYTES + 2 * graph.neighbours * LINK_BYTES
    connection.execute(BUILDING, [min(rows * row_bytes, MOST_MEMORY) // 1024])
    try:
        _create(connection, name, table, column, graph)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Parallel workers need shared memory, of which a container may have too little; one process needs none.
        connection.execute("SET max_parallel_maintenance_workers = 0")
        _create(connection, name, table, column, graph)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def _create(connection: Connection, name: str, table: str, column: str, graph: Graph) -> None:
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
        ).format(**parts, m=sql.Literal(graph.neighbours), ef=sql.Literal(graph.visited))
    )
    with connection.transaction():
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {name}").format(**parts))
        connection.execute(sql.SQL("ALTER INDEX {next} RENAME TO {name}").format(**parts))
