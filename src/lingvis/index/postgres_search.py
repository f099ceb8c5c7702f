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
EXACT = sql.SQL("{column}::vector({dim}) <#> %b")
ALL = sql.SQL(
    "SELECT {entry}, {exact} AS distance FROM {table} WHERE {passes} ORDER BY distance, path LIMIT %s OFFSET %s"
)
NEAR = sql.SQL("""
    WITH near AS MATERIALIZED (
        SELECT {entry}, {column} FROM {table} WHERE {passes} ORDER BY {column} <#> %b LIMIT %s
    )
    SELECT {entry}, {exact} AS distance, count(*) OVER () FROM near ORDER BY distance, path LIMIT %s OFFSET %s
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

    def exactly(self, query: Floats, k: int, offset: int, where: Filter) -> list[Hit]:
        """Compare every row that passes."""
        passes, values = to_conditions(where, self._column)
        asked = ALL.format(passes=passes, **self._parts)
        return _hits(self._rows(asked, [_single(query), *values, k, offset]), offset)

    def by_index(self, query: Floats, k: int, offset: int, where: Filter) -> list[Hit]:
        """Compare candidates from the index; every row where they are too few to be sure of the best."""
        candidates = next((many for wanted, many in CLASSES if k + offset <= wanted), None)
        if candidates is None:
            return self.exactly(query, k, offset, where)
        self._cursor.execute(
            # The candidates are put in order afterwards: none need be thrown away for coming late (strict_order).
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.max_scan_tuples', %s, true)",
            [str(candidates), str(SCANNED)],
        )
        passes, values = to_conditions(where, self._column)
        asked = NEAR.format(passes=passes, **self._parts)
        rows = self._rows(asked, [*values, to_half(query), candidates, _single(query), k, offset])
        if not rows or rows[0][-1] < candidates:
            return self.exactly(query, k, offset, where)
        return _hits([row[:-1] for row in rows], offset)

    def _rows(self, asked: sql.Composed, values: list[Any]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(asked, values).fetchall()


def _single(query: Floats) -> Vector:
    return Vector(query.astype(np.float32))


def _hits(rows: list[tuple[Any, ...]], offset: int) -> list[Hit]:
    """Rows of entry and distance, the negative product; best first, equal ones by path."""
    return [Hit(rank, -float(row[-1]), to_entry(row[:-1])) for rank, row in enumerate(rows, start=offset + 1)]
