"""Questions to a PostgreSQL table: by its HNSW index where there is one, else row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from pgvector import Vector
from psycopg import sql

from lingvis.index.contract import Filter, Floats, Hit
from lingvis.index.postgres_connection import Connection
from lingvis.index.postgres_rows import ENTRY, names, to_conditions, to_entry, to_half

# (results wanted, candidates from the index, at most 1000): all pages of the same class see the same candidates, so that
# they do not overlap. Beyond, every row is compared. Measured with 30,000 x 1024: 10 ms for 200 candidates, recall 1.0.
CLASSES = ((50, 200), (250, 1000))
SCANNED = 20_000  # rows of the index that may be looked at until enough have passed a filter
# Cast to single precision, the distance is no longer what the index is made of: this compares every row, exactly.
EXACT = sql.SQL("{column}::vector({dim}) <#> query")
# All queries in one statement: 100 of them took 0.65 s with 40,000 x 1024 rows and their index, one by one 1.06 s, where
# the server was on the same machine.
ALL = sql.SQL("""
    SELECT number, best.* FROM unnest(%b::vector[]) WITH ORDINALITY AS asked (query, number),
    LATERAL (
        SELECT {entry}, {exact} AS distance FROM {table} WHERE {passes} ORDER BY distance, path LIMIT %s OFFSET %s
    ) AS best ORDER BY number, distance, path
""")
NEAR = sql.SQL("""
    SELECT number, best.* FROM unnest(%b::vector[], %b::halfvec[]) WITH ORDINALITY AS asked (query, half, number),
    LATERAL (
        WITH near AS MATERIALIZED (
            SELECT {entry}, {column} FROM {table} WHERE {passes} ORDER BY {column} <#> half LIMIT %s
        )
        SELECT {entry}, {exact} AS distance FROM near WHERE (SELECT count(*) FROM near) = %s
        ORDER BY distance, path LIMIT %s OFFSET %s
    ) AS best ORDER BY number, distance, path
""")


class Searcher:
    """One table and one column of vectors, of length dim."""

    def __init__(self, connection: Connection, table: str, column: str, dim: int) -> None:
        self._cursor = connection.cursor(binary=True)
        self._column = column
        self._parts = {
            "entry": names(ENTRY),
            "table": sql.Identifier(table),
            "column": sql.Identifier(column),
            "exact": EXACT.format(column=sql.Identifier(column), dim=sql.Literal(dim)),
        }

    def exactly(self, queries: Floats, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Compare every row that passes."""
        passes, values = to_conditions(where, self._column)
        asked = ALL.format(passes=passes, **self._parts)
        return self._hits(asked, [_single(queries), *values, k, offset], len(queries), offset)

    def by_index(self, queries: Floats, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Compare candidates from the index; every row where they are too few to be sure of the best."""
        candidates = next((many for wanted, many in CLASSES if k + offset <= wanted), None)
        if candidates is None:
            return self.exactly(queries, k, offset, where)
        self._cursor.execute(
            # The candidates are put in order afterwards: none need be thrown away for coming late (strict_order).
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.max_scan_tuples', %s, true)",
            [str(candidates), str(SCANNED)],
        )
        passes, values = to_conditions(where, self._column)
        asked = NEAR.format(passes=passes, **self._parts)
        halfs = [to_half(query) for query in queries]
        values = [_single(queries), halfs, *values, candidates, candidates, k, offset]
        found = self._hits(asked, values, len(queries), offset)
        short = [number for number, hits in enumerate(found) if not hits]
        for number, hits in zip(short, self.exactly(queries[short], k, offset, where), strict=True):
            found[number] = hits
        return found

    def _hits(self, asked: sql.Composed, values: list[Any], queries: int, offset: int) -> list[list[Hit]]:
        """Rows of the query's number, entry and distance, the negative product; best first, equal ones by path."""
        found: list[list[Hit]] = [[] for _ in range(queries)]
        for number, *entry, distance in self._cursor.execute(asked, values) if queries else ():
            hits = found[number - 1]
            hits.append(Hit(offset + len(hits) + 1, -float(distance), to_entry(entry)))
        return found


def _single(queries: Floats) -> list[Vector]:
    return [Vector(query) for query in queries.astype(np.float32)]
