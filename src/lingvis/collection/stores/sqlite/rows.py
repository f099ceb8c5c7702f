"""Items as rows of a SQLite database, and back; the columns follow the fields of PictureInfo."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.filters import conditions
from lingvis.collection.stores.records import (
    CAPTION_EMBEDDING,
    COLUMN_OF,
    EMBEDDING,
    FILE_COLUMNS,
    INFO_COLUMNS,
    LATER_COLUMNS,
    Filter,
    Item,
    PictureInfo,
    StoredFile,
    info_values,
)

APPLICATION = 0x6C76_6331  # the mark of our databases
TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB", datetime: "TEXT"}
HINTS = {COLUMN_OF.get(name, name): hint for name, hint in get_type_hints(PictureInfo).items()}
# The types that a value of each column may have in Python.
KINDS = {name: frozenset(get_args(hint) or (hint,)) for name, hint in HINTS.items()}
DATES = [name for name, kinds in KINDS.items() if datetime in kinds]
DATE_PLACES = [INFO_COLUMNS.index(name) for name in DATES]
STORED_KINDS = {
    name: frozenset(str if kind is datetime else kind for kind in kinds) for name, kinds in KINDS.items()
}


def _column(name: str) -> str:
    (kind,) = KINDS[name] - {NoneType}
    required = name not in LATER_COLUMNS and NoneType not in KINDS[name]
    return f"{name} {TYPES[kind]}{' NOT NULL' if required else ''}"


FIRST_COLUMNS = [name for name in INFO_COLUMNS if name not in LATER_COLUMNS]
# `number` is never used twice, so that a search in memory never returns another picture than it has compared.
START = f"CREATE TABLE pictures (number INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(map(_column, FIRST_COLUMNS))}"
PICTURES = f"{START}{''.join(f', {_column(name)}' for name in LATER_COLUMNS)})"
# Columns that this or a later version added; the text of a stranger's table may hold nothing else.
LATER_PART = re.compile(rf"(, [a-z_]+ ({'|'.join(sorted(set(TYPES.values())))}))*\)")
# Vectors and thumbnails apart: a look at all records reads a tenth of the file.
VECTORS = (
    f"CREATE TABLE vectors (number INTEGER PRIMARY KEY, {EMBEDDING} BLOB NOT NULL, {CAPTION_EMBEDDING} BLOB)"
)
THUMBNAILS = "CREATE TABLE thumbnails (number INTEGER PRIMARY KEY, jpeg BLOB NOT NULL)"
INDEXES = (
    "CREATE UNIQUE INDEX pictures_id ON pictures (id)",
    "CREATE INDEX pictures_hash ON pictures (hash)",
    "CREATE INDEX pictures_date ON pictures (date DESC, path)",
)
SCHEMA = (PICTURES, VECTORS, THUMBNAILS, *INDEXES)
NUMBERS = "CREATE TABLE sqlite_sequence(name,seq)"  # SQLite makes it for AUTOINCREMENT


def check_schema(statements: Sequence[str | None]) -> None:
    """Raise ValueError unless a database consists of our tables and indexes, and nothing that runs by itself."""
    pictures = [text for text in statements if text is not None and text.startswith(START)]
    others = sorted(str(text) for text in statements if text not in pictures)
    if (
        len(pictures) != 1
        or not LATER_PART.fullmatch(pictures[0][len(START) :])
        or others != sorted((VECTORS, THUMBNAILS, *INDEXES, NUMBERS))
    ):
        raise ValueError("its database has other tables than those of a collection")


def select_columns(columns: Sequence[str], names: Collection[str]) -> str:
    """Return columns for a SELECT, with NULL for those that a table of an earlier version lacks."""
    return ", ".join(name if name in names else f"NULL AS {name}" for name in columns)


def add_columns(names: Collection[str]) -> list[str]:
    """Return the statements that add the columns that a table of an earlier version lacks."""
    return [f"ALTER TABLE pictures ADD COLUMN {_column(name)}" for name in LATER_COLUMNS if name not in names]


def upsert_row() -> str:
    """Return the statement that adds a record, or replaces the one with the same id."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in INFO_COLUMNS if name != "id")
    places = ", ".join("?" * len(INFO_COLUMNS))
    return f"INSERT INTO pictures ({', '.join(INFO_COLUMNS)}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {changes}"


def to_row(info: PictureInfo) -> list[Any]:
    """Return the parameters of `upsert_row`."""
    values = list(info_values(info))
    for place in DATE_PLACES:
        values[place] = to_date(values[place])
    return values


def to_info(row: Sequence[Any]) -> PictureInfo:
    """Turn INFO_COLUMNS, in their order, into a record; raises ValueError for values of other types."""
    values = checked(row, INFO_COLUMNS)
    for place in DATE_PLACES:
        values[place] = datetime.fromisoformat(values[place])
    return PictureInfo(*values)


def to_file(row: Sequence[Any]) -> StoredFile:
    """Turn FILE_COLUMNS, in their order, into a record; raises ValueError for values of other types."""
    return StoredFile(*checked(row, FILE_COLUMNS))


def checked(row: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Return the values of these columns; raises ValueError for values of other types, which SQLite would store."""
    for name, value in zip(columns, row, strict=True):
        if type(value) not in STORED_KINDS[name]:
            raise ValueError(f"{name} has a value of type {type(value).__name__}")
    return list(row)


def to_item(row: Sequence[Any], dim: int) -> Item:
    """Turn INFO_COLUMNS, the thumbnail and both embeddings into an item."""
    *info, thumbnail, embedding, of_caption = row
    vector = None if of_caption is None else to_vector(of_caption, dim)
    return Item(to_info(info), to_vector(embedding, dim), to_blob(thumbnail), vector)


def to_date(date: datetime) -> str:
    """Return a date as text of fixed length, so that texts are ordered as dates are."""
    return date.isoformat(sep=" ", timespec="microseconds")


def to_blob(value: Any) -> bytes:
    """Return the value of a column of bytes; raises ValueError for anything else."""
    if not isinstance(value, bytes):
        raise ValueError(f"{type(value).__name__} in place of bytes")
    return value


def from_vector(vector: Floats | None) -> bytes | None:
    """Return a vector as bytes in half precision, which changes a cosine by less than 0.001."""
    return None if vector is None else vector.astype("<f2").tobytes()


def to_vector(value: Any, dim: int) -> Floats:
    """Return a stored vector in single precision; raises ValueError if it has another length."""
    return np.frombuffer(check_vector(value, dim), "<f2").astype(np.float32)


def check_vector(value: Any, dim: int) -> bytes:
    """Return the bytes of a stored vector; raises ValueError if it has another length."""
    if len(to_blob(value)) != 2 * dim:
        raise ValueError(f"an embedding has {len(value)} bytes, not {2 * dim}")
    return value  # type: ignore[no-any-return]


def among(column: str, values: Sequence[str] | Sequence[int]) -> tuple[str, str]:
    """Return the condition that a column has one of these values, of any number, and its parameter.

    Values with a null character, which are never stored, are left out: SQLite would cut them off there.
    """
    kept = [value for value in values if isinstance(value, int) or "\0" not in value]
    return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(kept)


def to_conditions(where: Filter, names: Collection[str]) -> tuple[str, list[Any]]:
    """Return the condition that a row passes a filter, and its parameters; names: of the columns that there are."""
    clauses, values = ["1"], list[Any]()
    for column, comparison, value in conditions(where):
        name = column if column in names else "NULL"
        if comparison == "starts_with":  # every path that starts with "/a/" is between "/a/" and "/a0"
            clauses.append(f"{name} >= ? AND {name} < ?")
            values += [_encodable(value), _encodable(value[:-1] + chr(ord(value[-1]) + 1))]
        elif comparison == "contains":
            clauses.append(f"instr({name}, ?) > 0")
            values.append(_encodable(value))
        elif comparison == "in":
            clause, parameter = among(name, value)
            clauses.append(clause)
            values.append(parameter)
        elif comparison == "none or":
            clauses.append(f"({name} IS NULL OR {name} = ?)")
            values.append(value)
        else:
            clauses.append(f"{name} {comparison} ?")
            values.append(to_date(value) if isinstance(value, datetime) else value)
    return " AND ".join(clauses), values


def _encodable(text: str) -> str:
    """Return a text without characters that no stored path has, because they are not valid UTF-8."""
    return text.encode(errors="replace").decode()
