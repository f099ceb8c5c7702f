"""The HNSW index of a column of vectors: built while others read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from lingvis.collection.stores.postgres.connection import Connection

LONGEST = 4000  # values of a vector, as far as pgvector can index them
ROW_BYTES, LINK_BYTES = 250, 16  # of a row of the graph beside its vector, and of each of its links
MOST_MEMORY = 4 * 2**30
INDEXES = """
    SELECT c.relname, i.indisvalid,
        (SELECT option_value::int FROM pg_options_to_table(c.reloptions) WHERE option_name = 'm')
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = to_regclass(%s) AND a.amname = 'hnsw'
"""
# As much memory as the graph needs but no more than 4 GB, unless the administrator allows more; no limit of time.
BUILDING = """
    SELECT set_config('max_parallel_maintenance_workers', current_setting('max_parallel_workers'), false),
        set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
        set_config('maintenance_work_mem', greatest(setting::bigint, %s)::text, false)
    FROM pg_settings WHERE name = 'maintenance_work_mem'
"""


@dataclass(frozen=True, slots=True)
class Graph:
    """How densely an index is built: neighbours of each row, rows that are looked at to find them; and the candidates
    that a search takes from it."""

    neighbours: int
    looked_at: int
    candidates: int


# pgvector's own choice finds 0.989 of the ten nearest among 100,000 rows of 1024 values, but 0.904 among 1,000,000.
USUAL = Graph(neighbours=16, looked_at=64, candidates=500)
# Among 1,000,000: 0.992, and 0.976 with 500 candidates. It takes 2.6 times as long to build.
DENSE = Graph(neighbours=32, looked_at=128, candidates=1000)
DENSE_FROM = 200_000  # rows


def graph_for(rows: int) -> Graph:
    """What so many rows need."""
    return DENSE if rows >= DENSE_FROM else USUAL


def index_name(table: str, column: str) -> str:
    """What the index of a column is called."""
    return f"{table}_{column}_hnsw"


def indexes(connection: Connection, table: str) -> dict[str, Graph]:
    """The HNSW indexes of a table that may be used; a kill while one is built leaves it useless."""
    found = connection.execute(INDEXES, [table])
    return {
        str(name): DENSE if (neighbours or 0) >= DENSE.neighbours else USUAL
        for name, valid, neighbours in found
        if valid
    }


def owns(connection: Connection, table: str) -> bool:
    """Whether the role may build indexes."""
    found = connection.execute(
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(%s)", [table]
    ).fetchone()
    return found is not None and bool(found[0])


def build(connection: Connection, table: str, column: str, *, dim: int, rows: int) -> None:
    """Build the index of a column, in the place of one that a kill left unfinished or that has become too sparse."""
    name = index_name(table, column)
    graph = graph_for(rows)
    # Twice as many links as neighbours at the base of the graph, where all rows are; the levels above are small.
    each = 2 * dim + ROW_BYTES + 2 * graph.neighbours * LINK_BYTES
    connection.execute(BUILDING, [min(rows * each, MOST_MEMORY) // 1024])
    try:
        _create(connection, name, table, column, graph)
    except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
        # Workers share memory that a container may have too little of; one process alone needs none.
        connection.execute("SET max_parallel_maintenance_workers = 0")
        _create(connection, name, table, column, graph)
    connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def _create(connection: Connection, name: str, table: str, column: str, graph: Graph) -> None:
    """An index that is there serves until the new one takes its place."""
    parts: dict[str, Any] = {
        key: sql.Identifier(value)
        for key, value in {"name": name, "next": f"{name}_next", "table": table, "column": column}.items()
    }
    connection.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {next}").format(**parts))
    connection.execute(
        sql.SQL(
            "CREATE INDEX CONCURRENTLY {next} ON {table} USING hnsw ({column} halfvec_ip_ops) WITH (m = {m}, "
            "ef_construction = {ef})"
        ).format(**parts, m=sql.Literal(graph.neighbours), ef=sql.Literal(graph.looked_at))
    )
    with connection.transaction():
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {name}").format(**parts))
        connection.execute(sql.SQL("ALTER INDEX {next} RENAME TO {name}").format(**parts))
