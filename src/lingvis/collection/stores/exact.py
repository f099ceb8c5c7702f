"""Exact search in memory: every row is compared with the query."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.collection.filters import to_mask
from lingvis.collection.stores.lance.rows import complete, to_infos, to_matrix
from lingvis.collection.stores.records import INFO_COLUMNS, Filter, Hit, ranked

# Above the error of a product of unit vectors in half precision: at most 2^-11 each by rounding query and result.
ROUNDING = 2e-3


class ExactIndex:
    """A snapshot of the rows of a collection: their records, and one vector per row, float16 or float32 [rows, dim].

    Memory speed limits a query: 100,000 x 1024 values take 7 ms on 2 cores in half precision, the stored format,
    and 25 ms in single precision. numpy is fast in single precision alone, so that half precision needs torch; it is
    used if the model has loaded it. The best rows are compared again in double precision.
    """

    def __init__(self, table: pa.Table, column: str, dim: int) -> None:
        kept = complete(table.filter(pc.is_valid(table[column])))
        self._infos = kept.select(INFO_COLUMNS)
        half = np.require(to_matrix(kept[column], dim), requirements="W")
        self._torch: Any = sys.modules.get("torch")
        self._vectors = half.astype(np.float32) if self._torch is None else half

    def __len__(self) -> int:
        return len(self._vectors)

    def count(self, where: Filter) -> int:
        """Return the number of rows that pass a filter."""
        mask = to_mask(where, self._infos)
        return len(self) if mask is None else int(pc.sum(mask).as_py() or 0)

    def search(self, queries: Floats, *, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Return the hits of each query; queries: float32 [queries, dim]."""
        mask = to_mask(where, self._infos)
        places = np.arange(len(self._vectors)) if mask is None else np.flatnonzero(mask.to_numpy())
        results = []
        for query in queries:
            # One by one: a product with several queries, or with a matrix of one query, took seven times as long.
            scores = self._scores(query)
            # Filtered after the product: copying the vectors that pass would take longer.
            passing = scores if mask is None else scores[places]
            results.append(self._best(places, passing, query, k + offset)[offset:])
        return results

    def _scores(self, query: Floats) -> Floats:
        """Return the product of every row with the query, float32 [rows]."""
        if self._torch is None:
            return self._vectors @ query
        half = self._torch.from_numpy(self._vectors) @ self._torch.from_numpy(query).half()
        return half.float().numpy()  # type: ignore[no-any-return]

    def _best(self, places: NDArray[np.intp], scores: Floats, query: Floats, count: int) -> list[Hit]:
        """Return the `count` best rows; places: the row of each score."""
        count = min(count, len(scores))
        if count == 0:
            return []
        worst = np.partition(scores, len(scores) - count)[len(scores) - count]
        chosen = places[scores >= worst - ROUNDING]
        # Again row by row: in one large product, copies of a picture may differ in the last digit.
        again = (self._vectors[chosen].astype(np.float64) * query).sum(axis=1)
        return ranked(again.tolist(), to_infos(self._infos.take(chosen)))[:count]
