"""Exact search in memory: every row is compared with the query."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints
from lingvis.collection.stores.records import Hit, PictureInfo, page_of, ranked

# Above the error of a product of unit vectors in half precision: at most 2^-11 each by rounding query and result.
ROUNDING = 2e-3
RELOAD_SHARE = 0.1  # share of time that a reader may spend on reloading

Halfs = NDArray[np.float16]
Records = Callable[[Sequence[int]], Mapping[int, PictureInfo]]
T = TypeVar("T")


class ExactIndex:
    """A snapshot of the vectors of a collection, float16 or float32 [rows, dim], and the number of each row, ascending.

    Memory speed limits a query: 100,000 x 1024 values take 7 ms on 2 cores in half precision, the stored format,
    and 25 ms in single precision. numpy is fast in single precision alone, so that half precision needs torch; it is
    used if the model has loaded it. The best rows are compared again in double precision.
    """

    def __init__(self, vectors: Halfs, numbers: Ints) -> None:
        self._torch: Any = sys.modules.get("torch")
        self._vectors = vectors.astype(np.float32) if self._torch is None else vectors
        self._numbers = numbers

    def search(
        self, queries: Floats, *, k: int, offset: int, passing: Ints | None, records: Records
    ) -> list[list[Hit]]:
        """Return the hits of each query, float32 [queries, dim].

        passing: numbers of the rows that may be returned, None for all; records: those of rows, by their numbers.
        """
        places = np.arange(len(self._vectors)) if passing is None else self._places(passing)
        results = []
        for query in queries:
            # One by one: a product with several queries, or with a matrix of one query, took seven times as long.
            scores = self._scores(query)
            # Filtered after the product: copying the vectors that pass would take longer.
            kept = scores if passing is None else scores[places]
            results.append(self._page(places, kept, query, k, offset, records))
        return results

    def _places(self, numbers: Ints) -> NDArray[np.intp]:
        """Return the places of rows, without those that are not in the snapshot."""
        places = np.searchsorted(self._numbers, numbers)
        places[places == len(self._numbers)] = 0
        return places[self._numbers[places] == numbers] if len(self._numbers) else places[:0]

    def _scores(self, query: Floats) -> Floats:
        """Return the product of every row with the query, float32 [rows]."""
        if self._torch is None:
            return self._vectors @ query
        half = self._torch.from_numpy(self._vectors) @ self._torch.from_numpy(query).half()
        return half.float().numpy()  # type: ignore[no-any-return]

    def _page(
        self,
        places: NDArray[np.intp],
        scores: Floats,
        query: Floats,
        k: int,
        offset: int,
        records: Records,
    ) -> list[Hit]:
        """Return one page of the best rows; places: the row of each score."""
        count = min(k + offset, len(scores))
        if offset >= count:
            return []
        worst = np.partition(scores, len(scores) - count)[len(scores) - count]
        chosen = places[scores >= worst - ROUNDING]
        # Again row by row: in one large product, copies of a picture may differ in the last digit.
        again = (self._vectors[chosen].astype(np.float64) * query).sum(axis=1)
        if len(again) < count or not np.isfinite(again).all():
            raise ValueError("an embedding has values that are not numbers")
        order = np.argsort(-again, kind="stable")
        chosen, again = chosen[order], again[order]
        # All rows with the scores of the page: ties are ordered by path, so that pages never overlap.
        first = int(np.searchsorted(-again, -again[offset], "left"))
        end = int(np.searchsorted(-again, -again[count - 1], "right"))
        numbers = self._numbers[chosen[first:end]].tolist()
        known = records(numbers)  # another process may have dropped some since
        pairs = [
            (score, known[number])
            for score, number in zip(again[first:end], numbers, strict=True)
            if number in known
        ]
        best = ranked([float(score) for score, _ in pairs], [info for _, info in pairs])
        return page_of(best[offset - first : count - first], first_rank=offset + 1)


class Reloading(Generic[T]):
    """Values in memory by column, loaded again after changes, but not all the time beside a writer."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, T]] = {}
        self._loading = threading.Lock()
        self._load_from = 0.0

    def get(self, column: str, version: int, load: Callable[[], tuple[int, T]]) -> T:
        """Return the rows of this version, or slightly older ones; load: returns the current version and its rows."""
        held = self._held.get(column)
        if held is not None and held[0] == version:
            return held[1]
        with self._loading:
            held = self._held.get(column)
            start = time.monotonic()
            if held is None or (held[0] != version and start >= self._load_from):
                held = self._held[column] = load()
                end = time.monotonic()
                self._load_from = end + (end - start) * (1 / RELOAD_SHARE - 1)
        return held[1]
