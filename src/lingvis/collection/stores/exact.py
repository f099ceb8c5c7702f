"""Exact search in memory: every row is compared with the query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints
from lingvis.collection.stores.records import Hit, PictureInfo, page_of, ranked
from lingvis.collection.stores.scan import Halves, Rows, VectorScan

# Rows x dim up to which vectors are held in memory, 900 MB with their codes and without their records: more than a million
# rows of 256 values, which one query compares in about 15 ms. An index would take minutes to build, and miss some of the
# best.
EXACT_VALUES = 300_000_000
RELOAD_SHARE = 0.1  # share of time that a reader may spend on reloading
BRIEF = 0.1  # seconds: of a small collection, new rows are seen at once

Records = Callable[[Sequence[int]], Mapping[int, PictureInfo]]
T = TypeVar("T")


class ExactIndex:
    """A snapshot of the vectors of a collection, float16 [rows, dim], and the number of each row, ascending."""

    def __init__(self, vectors: Halves, numbers: Ints) -> None:
        self._scan = VectorScan(vectors)
        self._numbers = numbers

    def search(
        self, queries: Floats, *, k: int, offset: int, passing: Ints | None, records: Records
    ) -> list[list[Hit]]:
        """Return the hits of each query, float32 [queries, dim].

        passing: numbers of the rows that may be returned, None for all; records: those of rows, by their numbers.
        """
        places = None if passing is None else self._places(passing)
        found = self._scan.each_best(queries, k + offset, places)
        return [self._page(rows, scores, k, offset, records) for rows, scores in found]

    def _places(self, numbers: Ints) -> Rows:
        """Return the places of rows, without those that are not in the snapshot."""
        places = np.searchsorted(self._numbers, numbers)
        places[places == len(self._numbers)] = 0
        return places[self._numbers[places] == numbers] if len(self._numbers) else places[:0]

    def _page(
        self, found: Rows, scores: NDArray[np.float64], k: int, offset: int, records: Records
    ) -> list[Hit]:
        """Return one page of the best rows, which come in any order."""
        count = min(k + offset, len(found))
        if offset >= count:
            return []
        order = np.argsort(-scores, kind="stable")
        found, scores = found[order], scores[order]
        # All rows with the scores of the page: ties are ordered by path, so that pages never overlap.
        first = int(np.searchsorted(-scores, -scores[offset], "left"))
        numbers = self._numbers[found[first:]].tolist()
        known = records(numbers)  # another process may have dropped some since
        pairs = [
            (score, known[number])
            for score, number in zip(scores[first:].tolist(), numbers, strict=True)
            if number in known
        ]
        best = ranked([score for score, _ in pairs], [info for _, info in pairs])
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
                took = end - start
                self._load_from = end + took * (1 / RELOAD_SHARE - 1) if took > BRIEF else end
        return held[1]
