"""Exact search in memory: every row is compared with the query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from lingvis.collection.filters import to_mask
from lingvis.collection.stores.contract import Entry, Filter, Floats, Hit
from lingvis.collection.stores.lance.rows import ENTRY, to_entries, to_matrix

# More than a product of unit vectors in half precision loses: of the query and of the result at most 2^-11 each.
ROUNDING = 2e-3


class ExactIndex:
    """The rows of a collection at one moment: entries, and one vector each, float16 [rows, dim].

    A query is bound by the speed of memory: in half precision, as vectors are stored, 100,000 x 1024 take 7 ms on 2
    cores, in single precision 25. The best are compared once more in double precision.
    """

    def __init__(self, table: pa.Table, column: str, dim: int) -> None:
        kept = table.filter(pc.is_valid(table[column]))
        self._entries = kept.select(ENTRY)
        self._vectors = torch.from_numpy(np.require(to_matrix(kept[column], dim), requirements="W"))

    def search(self, queries: Floats, *, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Queries float32 [queries, dim] -> the hits of each."""
        mask = to_mask(where, self._entries)
        places = np.arange(len(self._vectors)) if mask is None else np.flatnonzero(mask.to_numpy())
        found = []
        for query in queries:
            # One by one: a product with several at once, or with a matrix of one, took seven times as long.
            scores: Floats = (self._vectors @ torch.from_numpy(query).half()).float().numpy()
            # Filtered behind the product: copying the vectors that pass would take longer.
            passing = scores if mask is None else scores[places]
            found.append(self._best(places, passing, query, k + offset)[offset:])
        return found

    def _best(self, places: NDArray[np.intp], scores: Floats, query: Floats, count: int) -> list[Hit]:
        """The rows with the best scores; `places` says which row each score belongs to."""
        count = min(count, len(scores))
        if count == 0:
            return []
        worst = np.partition(scores, len(scores) - count)[len(scores) - count]
        chosen = places[scores >= worst - ROUNDING]
        # Once more row by row: in one big product, copies of a picture may differ in the last digit.
        again = (self._vectors[torch.from_numpy(chosen)].numpy().astype(np.float64) * query).sum(axis=1)
        return ranked(again.tolist(), to_entries(self._entries.take(chosen)))[:count]


def ranked(scores: Sequence[float], entries: Sequence[Entry]) -> list[Hit]:
    """Best first; equal scores (copies of a picture) by path, so that pages never overlap."""
    pairs = sorted(zip(scores, entries, strict=True), key=lambda pair: (-pair[0], pair[1].path))
    return [Hit(rank, score, entry) for rank, (score, entry) in enumerate(pairs, start=1)]
