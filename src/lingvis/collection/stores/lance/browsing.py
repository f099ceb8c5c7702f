"""The order of pictures by date, in memory, and what is counted over it."""

from __future__ import annotations

import os
import re
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lingvis.collection.stores.lance.filters import to_mask
from lingvis.collection.stores.lance.rows import complete
from lingvis.collection.stores.records import Filter, FolderCount, MonthCount, PlaceCount
from lingvis.collection.stores.squares import Degrees, count_squares

# Enough to order, filter and count: about 220 bytes per picture.
ORDER_COLUMNS = ["id", "path", "date", "size", "format", "hash"]
LATER_ORDER_COLUMNS = ["latitude", "longitude", "second"]
NAME = f"{re.escape(os.sep)}[^{re.escape(os.sep)}]*$"  # the last part of a path


class DateOrder:
    """A snapshot of the rows of a collection, newest first; table: ORDER_COLUMNS, and LATER_ORDER_COLUMNS if it has them."""

    def __init__(self, table: pa.Table) -> None:
        order = pc.sort_indices(table, sort_keys=[("date", "descending"), ("path", "ascending")])
        self._rows = complete(table.take(order))

    def ids(self, k: int, offset: int, where: Filter) -> list[str]:
        """Return the ids of one page."""
        mask = to_mask(where, self._rows)
        if mask is None:
            page = self._rows["id"].slice(offset, k)
        else:
            page = self._rows["id"].take(np.flatnonzero(mask.to_numpy())[offset : offset + k])
        ids: list[str] = page.to_pylist()
        return ids

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month, the latest first."""
        dates = self._passing(where)["date"]
        months = pc.add(pc.multiply(pc.year(dates), 12), pc.subtract(pc.month(dates), 1))
        counts = _counts(months)
        return [
            MonthCount(date(month // 12, month % 12 + 1, 1).strftime("%Y-%m"), counts[month])
            for month in sorted(counts, reverse=True)
        ]

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder, ordered by path."""
        paths = self._passing(where)["path"]
        counts = _counts(pc.replace_substring_regex(paths, NAME, ""))
        return [FolderCount(folder or os.sep, counts[folder]) for folder in sorted(counts)]

    def places(self, where: Filter, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map, the largest numbers first."""
        rows = self._passing(where)
        rows = rows.filter(pc.is_valid(rows["latitude"]))
        if not rows.num_rows:
            return []
        latitude, longitude = _degrees(rows["latitude"]), _degrees(rows["longitude"])
        return count_squares(latitude, longitude, lambda row: str(rows["id"][row].as_py()), step)

    def _passing(self, where: Filter) -> pa.Table:
        mask = to_mask(where, self._rows)
        return self._rows if mask is None else self._rows.filter(mask)


def _degrees(column: pa.ChunkedArray) -> Degrees:
    degrees: Degrees = column.to_numpy()
    return degrees


def _counts(column: pa.ChunkedArray) -> dict[Any, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(column).to_pylist()}
