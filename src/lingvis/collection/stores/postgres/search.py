"""Search in a PostgreSQL table: by vectors in our memory, by its HNSW index, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pgvector import Vector
from psycopg import sql

from lingvis.arrays import Floats
from lingvis.collection.stores.escapes import to_text
from lingvis.collection.stores.postgres.held import Snapshot
from lingvis.collection.stores.postgres.rows import CHANGED, read_columns, to_conditions, to_half, to_info
from lingvis.collection.stores.postgres.state import State
from lingvis.collection.stores.records import INFO_COLUMNS, Filter, Hit

# The first places come from a fixed number of candidates of the index, and later places from comparing every other row: each
# picture has one place, and pages neither overlap nor have gaps. The index orders by half precision, so that a few more
# candidates than places are enough.
PLACES, CANDIDATES = 250, 300
# Candidates from memory: a few more than places; with a filter, which is not in memory, more; MOST is the limit.
MORE, FILTERED, MOST = 32, 300, 8000
# In single precision the index cannot be used: this compares every row exactly.
EXACT = sql.SQL("{column}::vector({dim}) <#> query")
# All queries in one statement: 100 of them took 0.65 s with 40,000 x 1024 rows and their index, one by one 1.06 s, with
# the server on the same machine.
ALL = sql.SQL("""
    SELECT number, best.* FROM unnest(%b::vector[]) WITH ORDINALITY AS queries (query, number),
    LATERAL (
        SELECT {info}, {exact} AS distance FROM {table} WHERE {passes} ORDER BY distance, path LIMIT %s OFFSET %s
    ) AS best ORDER BY number, distance, path
""")
NEAR = sql.SQL("""
    SELECT number, best.* FROM unnest(%b::vector[], %b::halfvec[]) WITH ORDINALITY AS queries (query, half, number),
    LATERAL (
        WITH near AS MATERIALIZED (
            SELECT {info}, {column} FROM {table} WHERE {passes} ORDER BY {column} <#> half LIMIT %s
        )
        SELECT {info}, {exact} AS distance FROM near WHERE (SELECT count(*) FROM near) = %s
        ORDER BY distance, path LIMIT %s OFFSET %s
    ) AS best ORDER BY number, distance, path
""")
# The server knows best: it leaves out rows that are gone, and compares those that have changed as they are now. Numbers of
# transactions that are still to come are those of another server, from which a backup came.
HELD = sql.SQL("""
    WITH near AS MATERIALIZED (
        SELECT {info}, {column}, {renewed} AS renewed FROM {table} WHERE (id = ANY(%s) OR {renewed}) AND {passes}
    )
    SELECT number, best.*, (SELECT count(*) FROM near WHERE renewed), (SELECT count(*) FROM near)
    FROM unnest(%b::vector[]) WITH ORDINALITY AS queries (query, number),
    LATERAL (SELECT {info}, {exact} AS distance FROM near ORDER BY distance, path LIMIT %s OFFSET %s) AS best
    ORDER BY number, distance, path
""")
RENEWED_SINCE = sql.SQL(
    "({changed} >= %s AND {changed} < pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"
)
RENEWED = 2000  # changed rows after which a snapshot should be loaded again: each search compares all of them
ROUNDING = 1e-5  # more than scores of single and double precision differ


Rows = list[tuple[Any, ...]]
Statement = tuple[sql.Composed, list[Any]]  # with its parameters
Fetch = Callable[[Callable[[State], Statement]], Rows]  # asks the current table


class Searcher:
    """Searches one column of vectors."""

    def __init__(self, fetch: Fetch, column: str) -> None:
        self._fetch, self._column = fetch, column

    def exactly(self, queries: Floats, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Compare every row that passes the filter."""

        def compare(state: State) -> Statement:
            passes, values = to_conditions(where, self._column, state.missing)
            return ALL.format(passes=passes, **self._parts(state)), [_single(queries), *values, k, offset]

        return self._hits(compare, len(queries), offset)

    def by_index(self, queries: Floats, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Take the first places from the index, and later places by comparing every other row."""
        if k + offset <= PLACES:
            return self._near(queries, k, offset, where)
        return [
            first[offset:] + self._others(query, first, k + offset - PLACES, max(0, offset - PLACES), where)
            for query, first in zip(queries, self._near(queries, PLACES, 0, where), strict=True)
        ]

    def in_memory(
        self, held: Snapshot, queries: Floats, k: int, offset: int, where: Filter
    ) -> tuple[list[list[Hit]] | None, bool]:
        """Take candidates from a snapshot; returns the hits, and whether a new snapshot would serve better.

        None for the hits if they could be others: of another table, with too few candidates that pass, or too many.
        """
        if not len(queries):
            return [], False
        count = k + offset + (MORE if where == Filter() else FILTERED)
        if count * len(queries) > MOST:
            return None, False
        ids, least = held.candidates(queries, count)

        def compare(state: State) -> Statement:
            passes, values = to_conditions(where, self._column, state.missing)
            if state.origin != held.origin:
                return ALL.format(passes=sql.SQL("false"), **self._parts(state)), [
                    _single(queries),
                    k,
                    offset,
                ]
            renewed = RENEWED_SINCE.format(changed=sql.Identifier(CHANGED))
            statement = HELD.format(passes=passes, renewed=renewed, **self._parts(state))
            return statement, [held.since, ids, held.since, *values, _single(queries), k, offset]

        rows = self._fetch(compare)
        renewed, near = rows[0][-2:] if rows else (0, 0)
        results = self._to_hits([row[:-2] for row in rows], len(queries), offset)
        complete = all(
            bound == -np.inf or (len(hits) == k and hits[-1].score > bound + ROUNDING)
            for hits, bound in zip(results, least, strict=True)
        )
        found = results if complete and rows else None
        # Some of the candidates have been dropped or changed; a page beyond the last row tells nothing.
        gone = near - renewed < len(ids) if rows else offset == 0
        return found, renewed > RENEWED or (found is None and where == Filter() and gone)

    def _others(self, query: Floats, first: Sequence[Hit], end: int, start: int, where: Filter) -> list[Hit]:
        """Return places `start` to `end` of the rows that are not among the first."""
        if len(first) < PLACES:
            return []

        def compare(state: State) -> Statement:
            passes, values = to_conditions(where, self._column, state.missing)
            passes = sql.SQL("{} AND id <> ALL(%s)").format(passes)
            ids = [to_text(hit.info.id) for hit in first]
            statement = ALL.format(passes=passes, **self._parts(state))
            return statement, [_single(query[None]), *values, ids, end - start, start]

        return self._hits(compare, 1, PLACES + start)[0]

    def _near(self, queries: Floats, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Compare candidates from the index, or every row if there are too few candidates."""

        def compare(state: State) -> Statement:
            passes, values = to_conditions(where, self._column, state.missing)
            halfs = [to_half(query) for query in queries]
            statement = NEAR.format(passes=passes, **self._parts(state))
            return statement, [_single(queries), halfs, *values, CANDIDATES, CANDIDATES, k, offset]

        results = self._hits(compare, len(queries), offset)
        short = [number for number, hits in enumerate(results) if not hits]
        for number, hits in zip(short, self.exactly(queries[short], k, offset, where), strict=True):
            results[number] = hits
        return results

    def _hits(self, compare: Callable[[State], Statement], queries: int, offset: int) -> list[list[Hit]]:
        """Run a statement that returns the number of the query, INFO_COLUMNS and the distance (negative product)."""
        return self._to_hits(self._fetch(compare) if queries else [], queries, offset)

    def _to_hits(self, rows: Rows, queries: int, offset: int) -> list[list[Hit]]:
        results: list[list[Hit]] = [[] for _ in range(queries)]
        for number, *info, distance in rows:
            hits = results[number - 1]
            hits.append(Hit(offset + len(hits) + 1, -float(distance), to_info(info)))
        return results

    def _parts(self, state: State) -> dict[str, sql.Composable]:
        column = sql.Identifier(self._column)
        return {
            "info": read_columns(INFO_COLUMNS, state.missing),
            "table": sql.Identifier(state.table),
            "column": column,
            "exact": EXACT.format(column=column, dim=sql.Literal(state.header.dim)),
        }


def _single(queries: Floats) -> list[Vector]:
    return [Vector(query) for query in queries.astype(np.float32)]
