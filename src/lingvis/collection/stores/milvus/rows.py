"""Items as rows of a Milvus collection, and back; filters as expressions."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from pymilvus import DataType, MilvusClient

from lingvis.arrays import Floats
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.records import (
    COLUMN_OF,
    EMBEDDING,
    INFO_COLUMNS,
    Item,
    PictureInfo,
)

# Partitions: a Milvus collection has one column of vectors, so that embeddings of captions are rows of their own.
PICTURES, CAPTIONS = "_default", "captions"
CAPTION_ID = "caption:"  # how the ids of these rows begin
TEXT_BYTES = 65_535  # of a text; the most that Milvus stores
NOWHERE = 1000.0  # the degree of a picture without a position: Milvus 2.3 has no empty values
NO_VIDEO = -1.0  # the second of a picture
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
# Columns that a filter may name. All others of INFO_COLUMNS are dynamic: absent where they are None.
COLUMNS = {
    "id": DataType.VARCHAR,
    "path": DataType.VARCHAR,
    "hash": DataType.VARCHAR,
    "size": DataType.INT64,
    "date": DataType.INT64,
    "format": DataType.VARCHAR,
    "latitude": DataType.DOUBLE,
    "longitude": DataType.DOUBLE,
    "second": DataType.DOUBLE,
    "captioned": DataType.BOOL,
    "changed": DataType.INT64,  # the server's timestamp before the row was written
    "thumbnail": DataType.VARCHAR,  # as base64; empty if thumbnails are in a folder
}
DEGREES = ("latitude", "longitude")
BYTES = frozenset(field.name for field in fields(PictureInfo) if "bytes" in str(field.type))
FIELD_OF = {column: field for field, column in COLUMN_OF.items()}


def make_schema(dim: int) -> Any:
    """Return the columns of a collection; vectors are in single precision."""
    schema: Any = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    for name, kind in COLUMNS.items():
        longest = {"max_length": TEXT_BYTES} if kind == DataType.VARCHAR else {}
        schema.add_field(name, kind, is_primary=name == "id", **longest)
    schema.add_field(EMBEDDING, DataType.FLOAT_VECTOR, dim=dim)
    return schema


def to_row(item: Item, *, changed: int, thumbnail: bytes, caption: bool = False) -> dict[str, Any]:
    """Return the row of a picture, or of its caption."""
    row = {COLUMN_OF.get(name, name): _stored(value) for name, value in asdict(item.info).items()}
    row = {name: value for name, value in row.items() if value is not None}
    for degree in DEGREES:
        row.setdefault(degree, NOWHERE)
    row.setdefault("second", NO_VIDEO)
    vector = item.caption_embedding if caption else item.embedding
    assert vector is not None
    return {
        **row,
        "id": caption_id(item.info.id) if caption else row["id"],
        "captioned": item.info.caption is not None,
        "changed": changed,
        "thumbnail": base64.b64encode(thumbnail).decode(),
        EMBEDDING: vector.astype(np.float32),
    }


def caption_id(id: str) -> str:
    """Return the id of the row of a caption."""
    return CAPTION_ID + to_text(id)


def to_info(row: dict[str, Any]) -> PictureInfo:
    """Turn a row with INFO_COLUMNS into a record."""
    values = {FIELD_OF.get(name, name): _restored(name, row.get(name)) for name in INFO_COLUMNS}
    values["id"] = values["id"].removeprefix(CAPTION_ID)
    return PictureInfo(**values)


def to_item(row: dict[str, Any], thumbnail: bytes, of_caption: Floats | None) -> Item:
    """Turn a row with all columns into an item."""
    return Item(to_info(row), np.asarray(row[EMBEDDING], np.float32), thumbnail, of_caption)


def to_date(microseconds: int) -> datetime:
    """Return a stored date."""
    return EPOCH + microseconds * MICROSECOND


def literal(value: Any) -> str:
    """Return a value in an expression."""
    if isinstance(value, datetime):
        return str(_stored(value))
    return json.dumps(to_text(value) if isinstance(value, str) else value, ensure_ascii=False)


def among(column: str, values: Sequence[str]) -> str:
    """Return the expression that a column has one of some texts."""
    return f"{column} in [{', '.join(map(literal, values))}]"


def in_folder(prefix: str) -> str:
    """Return the expression that a path begins with "/a/": it is between "/a/" and "/a0"."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return f"(path >= {literal(prefix)} and path < {literal(after)})"


def _stored(value: Any) -> Any:
    if isinstance(value, str):
        return to_text(value)
    if isinstance(value, datetime):
        return (value - EPOCH) // MICROSECOND
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _restored(name: str, value: Any) -> Any:
    if value is None or (name in DEGREES and value == NOWHERE) or (name == "second" and value == NO_VIDEO):
        return None
    if name == "date":
        return to_date(value)
    return base64.b64decode(value) if name in BYTES else from_text(value)
