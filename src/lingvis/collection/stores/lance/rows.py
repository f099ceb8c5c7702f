"""Items as rows of an Arrow table, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lingvis.arrays import Floats
from lingvis.collection.stores.records import (
    CAPTION,
    CAPTION_EMBEDDING,
    COLUMN_OF,
    EMBEDDING,
    FILE_COLUMNS,
    INFO_COLUMNS,
    LATER_COLUMNS,
    Item,
    PictureInfo,
    StoredFile,
    info_values,
)

FIELD_OF = {column: field for field, column in COLUMN_OF.items()}
LATER = [
    pa.field("camera", pa.string()),
    pa.field("latitude", pa.float64()),
    pa.field("longitude", pa.float64()),
    pa.field("signature", pa.binary()),
    pa.field("second", pa.float64()),
    pa.field("duration", pa.float64()),
]


def schema(dim: int) -> pa.Schema:
    """Return the columns of a collection; half precision changes a cosine of vectors by less than 0.001."""
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
            pa.field(CAPTION, pa.string()),
            pa.field("lang", pa.string()),
            *LATER,
            pa.field("thumbnail", pa.binary(), nullable=False),
            pa.field(EMBEDDING, vector, nullable=False),
            pa.field(CAPTION_EMBEDDING, vector),
        ]
    )


def to_table(items: Sequence[Item], dim: int) -> pa.Table:
    """Return a table of one row per item."""
    infos = [info_values(item.info) for item in items]
    columns: dict[str, Any] = {name: [info[n] for info in infos] for n, name in enumerate(INFO_COLUMNS)}
    columns["thumbnail"] = [item.thumbnail for item in items]
    columns[EMBEDDING] = [item.embedding.astype(np.float16) for item in items]
    columns[CAPTION_EMBEDDING] = [
        None if item.caption_embedding is None else item.caption_embedding.astype(np.float16)
        for item in items
    ]
    return pa.table(columns, schema=schema(dim))


def missing_columns(names: Sequence[str]) -> pa.Schema:
    """Return the columns that a table of an earlier version lacks, given the names of its columns."""
    return pa.schema([field for field in LATER if field.name not in names])


def info_columns(names: Sequence[str]) -> list[str]:
    """Return those of INFO_COLUMNS that a table has."""
    return [name for name in INFO_COLUMNS if name not in LATER_COLUMNS or name in names]


def complete(table: pa.Table) -> pa.Table:
    """Return the rows with empty columns in place of those that a table of an earlier version lacks."""
    for field in missing_columns(table.schema.names):
        table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def to_items(table: pa.Table) -> list[Item]:
    """Turn rows with all columns into items."""
    return [
        Item(
            _info(row),
            _vector(row[EMBEDDING]),
            row["thumbnail"],
            row[CAPTION_EMBEDDING] and _vector(row[CAPTION_EMBEDDING]),
        )
        for row in table.to_pylist()
    ]


def to_infos(table: pa.Table) -> list[PictureInfo]:
    """Turn rows with INFO_COLUMNS into records."""
    return [_info(row) for row in table.to_pylist()]


def to_files(batch: pa.RecordBatch) -> list[StoredFile]:
    """Turn rows with FILE_COLUMNS into records."""
    return [StoredFile(*(row[name] for name in FILE_COLUMNS)) for row in batch.to_pylist()]


def to_matrix(column: pa.ChunkedArray, dim: int) -> np.ndarray[Any, np.dtype[np.float16]]:
    """Turn a column of vectors without gaps into float16 [rows, dim]."""
    values: np.ndarray[Any, np.dtype[np.float16]] = (
        column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    )
    return values.reshape(-1, dim)


def _info(row: dict[str, Any]) -> PictureInfo:
    return PictureInfo(**{FIELD_OF.get(name, name): row[name] for name in INFO_COLUMNS if name in row})


def _vector(values: Sequence[float]) -> Floats:
    return np.asarray(values, np.float32)
