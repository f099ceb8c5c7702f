"""Questions to a PostgreSQL table: by its HNSW index where there is one, else row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pgvector import Vector
from psycopg import sql

from lingvis.collection.stores.contract import Filter, Floats, Hit
from lingvis.collection.stores.postgres.connection import Connection
from lingvis.collection.stores.postgres.rows import ENTRY, names, to_conditions, to_entry, to_half, to_text

# The first places are filled from candidates of the index, equally many whatever the page, and the places after them by
# comparing every other row: each picture has one place, and pages neither overlap nor leave one out. Measured with
# 8,000 x 1024 in clusters and 500 candidates: 8 ms a query, recall 1.0 up to place 48, 0.97 up to 250; with 1,000 it took
# 15 ms for 0.99.
PLACES = 250
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

    def by_index(
        self, queries: Floats, k: int, offset: int, where: Filter, *, candidates: int
    ) -> list[list[Hit]]:
        """The first places from the index, those after them by comparing every row that is not among the first."""
        if k + offset <= PLACES:
            return self._near(queries, k, offset, where, candidates)
        return [
            first[offset:] + self._others(query, first, k + offset - PLACES, max(0, offset - PLACES), where)
            for query, first in zip(queries, self._near(queries, PLACES, 0, where, candidates), strict=True)
        ]

    def _others(self, query: Floats, first: Sequence[Hit], end: int, start: int, where: Filter) -> list[Hit]:
        """Places from start to end of the rows that are not among the first."""
        if len(first) < PLACES:
            return []
        passes, values = to_conditions(where, self._column)
        passes = sql.SQL("{} AND id <> ALL(%s)").format(passes)
        asked = ALL.format(passes=passes, **self._parts)
        ids = [to_text(hit.id) for hit in first]
        values = [_single(query[None]), *values, ids, end - start, start]
        return self._hits(asked, values, 1, PLACES + start)[0]

    def _near(self, queries: Floats, k: int, offset: int, where: Filter, candidates: int) -> list[list[Hit]]:
        """Compare candidates from the index; every row where they are too few to be sure of the best."""
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
