"""Items as rows of an Arrow table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from lingvis.collection.stores.contract import Entry, Floats, Item, Known

PICTURES, NOTES = "embedding", "note_embedding"
ENTRY = ["id", "path", "hash", "size", "mtime_ns", "width", "height", "format", "date", "note", "lang"]
KNOWN = ["id", "path", "hash", "size", "mtime_ns", "note"]


def schema(dim: int) -> pa.Schema:
    """Columns of a collection; vectors are kept in half precision, which moves a cosine by less than 0.001."""
    vector = pa.list_(pa.float16(), dim)
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("path", pa.string(), nullable=False),
            pa.field("hash", pa.string(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("mtime_ns", pa.int64(), nullable=False),
            pa.field("width", pa.int32(), nullable=False),
            pa.field("height", pa.int32(), nullable=False),
            pa.field("format", pa.string(), nullable=False),
            pa.field("date", pa.timestamp("us"), nullable=False),
            pa.field("note", pa.string()),
            pa.field("lang", pa.string()),
            pa.field("thumbnail", pa.binary(), nullable=False),
            pa.field(PICTURES, vector, nullable=False),
            pa.field(NOTES, vector),
        ]
    )


def to_table(items: Sequence[Item], dim: int) -> pa.Table:
    """One row an item."""
    entries = [asdict(item.entry) for item in items]
    columns: dict[str, Any] = {name: [entry[name] for entry in entries] for name in ENTRY}
    columns["thumbnail"] = [item.thumbnail for item in items]
    columns[PICTURES] = [item.embedding.astype(np.float16) for item in items]
    columns[NOTES] = [
        None if item.note_embedding is None else item.note_embedding.astype(np.float16) for item in items
    ]
    return pa.table(columns, schema=schema(dim))


def to_items(table: pa.Table) -> list[Item]:
    """Rows with all columns -> items."""
    return [
        Item(_entry(row), _vector(row[PICTURES]), row["thumbnail"], row[NOTES] and _vector(row[NOTES]))
        for row in table.to_pylist()
    ]


def to_entries(table: pa.Table) -> list[Entry]:
    """Rows with the columns ENTRY -> entries."""
    return [_entry(row) for row in table.to_pylist()]


def to_known(batch: pa.RecordBatch) -> list[Known]:
    """Rows with the columns KNOWN."""
    return [Known(**{name: row[name] for name in KNOWN}) for row in batch.to_pylist()]


def to_matrix(column: pa.ChunkedArray, dim: int) -> np.ndarray[Any, np.dtype[np.float16]]:
    """A column of vectors without gaps -> float16 [rows, dim]."""
    values: np.ndarray[Any, np.dtype[np.float16]] = (
        column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    )
    return values.reshape(-1, dim)


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**{name: row[name] for name in ENTRY})


def _vector(values: Sequence[float]) -> Floats:
    return np.asarray(values, np.float32)
