"""The vectors of a column in memory, for exact search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lingvis.arrays import Floats
from lingvis.collection.stores.exact import ExactIndex
from lingvis.collection.stores.lance.filters import to_mask
from lingvis.collection.stores.lance.rows import to_infos
from lingvis.collection.stores.records import Filter, Hit, PictureInfo


@dataclass(frozen=True, slots=True)
class InMemory:
    """The vectors of a column, and the records of the same rows."""

    index: ExactIndex
    records: pa.Table

    def search(self, queries: Floats, *, k: int, offset: int, where: Filter) -> list[list[Hit]]:
        """Return the hits of each query."""
        mask = to_mask(where, self.records)
        passing = None if mask is None else np.flatnonzero(mask.to_numpy())
        return self.index.search(queries, k=k, offset=offset, passing=passing, records=self._take)

    def _take(self, numbers: Sequence[int]) -> dict[int, PictureInfo]:
        return dict(zip(numbers, to_infos(self.records.take(numbers)), strict=True))
