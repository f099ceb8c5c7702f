"""Items as rows of a PostgreSQL table, and back; filters as its conditions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.adapt import PyFormat

from lingvis.arrays import Floats
from lingvis.collection.filters import conditions
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.records import (
    CAPTION,
    CAPTION_EMBEDDING,
    EMBEDDING,
    INFO_COLUMNS,
    Filter,
    Item,
    PictureInfo,
    info_values,
)

# Texts are compared by code points, as in Python: a folder is then a range of paths that an index can find.
COLUMNS = {
    "id": 'text COLLATE "C" PRIMARY KEY',
    "path": 'text COLLATE "C" NOT NULL',
    "hash": 'text COLLATE "C" NOT NULL',
    "size": "bigint NOT NULL",
    "mtime_ns": "bigint NOT NULL",
    "width": "integer NOT NULL",
    "height": "integer NOT NULL",
    "format": 'text COLLATE "C" NOT NULL',
    "date": "timestamp NOT NULL",
    CAPTION: "text",
    "lang": "text",
    "camera": "text",
    "latitude": "float8",
    "longitude": "float8",
    "signature": "bytea",
    "second": "float8",
    "duration": "float8",
    "thumbnail": "bytea NOT NULL",
    EMBEDDING: "halfvec({dim}) NOT NULL",
    CAPTION_EMBEDDING: "halfvec({dim})",
}
# Vectors are stored in the row if they fit a page, for fast scans; thumbnails are stored outside.
STORAGE = {"thumbnail": "external", EMBEDDING: "main", CAPTION_EMBEDDING: "main"}
SEARCHED = ("path", "date", "size", "format")
# The number of the transaction that wrote the row, by which a process sees what has changed since it read all vectors.
CHANGED, CHANGED_BY = "changed", "pg_current_xact_id()::text::bigint"
TEXTS = {"id", "path", "hash", "format", CAPTION, "lang", "camera"}


def create_table(table: str, dim: int) -> sql.Composed:
    """Return the statements that create the table of a collection and the indexes for its filters."""
    size = sql.Literal(dim)
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind).format(dim=size))
        for name, kind in COLUMNS.items()
    ]
    columns.append(sql.SQL("{} bigint DEFAULT " + CHANGED_BY).format(sql.Identifier(CHANGED)))
    statements = [sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), sql.SQL(", ").join(columns))]
    statements += [
        sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET STORAGE {}").format(
            sql.Identifier(table), sql.Identifier(name), sql.SQL(kind)
        )
        for name, kind in STORAGE.items()
    ]
    statements += [
        sql.SQL("CREATE INDEX {} ON {} ({})").format(*map(sql.Identifier, (f"{table}_{name}", table, name)))
        for name in (*SEARCHED, CHANGED)
    ]
    return sql.SQL("; ").join(statements)


def names(columns: Sequence[str]) -> sql.Composed:
    """Return column names, separated by commas."""
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def add_columns(table: str, missing: Sequence[str]) -> sql.Composed:
    """Return the statements that add columns to a table of an earlier version, without writing its rows again."""
    added = [
        sql.SQL("ADD COLUMN IF NOT EXISTS {} {}").format(
            sql.Identifier(name), sql.SQL("bigint" if name == CHANGED else COLUMNS[name])
        )
        for name in missing
    ]
    statements = [sql.SQL("ALTER TABLE {} {}").format(sql.Identifier(table), sql.SQL(", ").join(added))]
    if CHANGED in missing:
        names = {"table": table, "column": CHANGED, "index": f"{table}_{CHANGED}"}
        parts = {key: sql.Identifier(name) for key, name in names.items()}
        counted = "ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT " + CHANGED_BY
        statements += [
            sql.SQL(text).format(**parts)
            for text in (counted, "CREATE INDEX IF NOT EXISTS {index} ON {table} ({column})")
        ]
    return sql.SQL("; ").join(statements)


def read_columns(columns: Sequence[str], missing: Collection[str]) -> sql.Composed:
    """Return column names, separated by commas, with NULL for those that a table of an earlier version lacks."""
    return sql.SQL(", ").join(
        sql.SQL("NULL::{} AS {}").format(sql.SQL(COLUMNS[name]), sql.Identifier(name))
        if name in missing
        else sql.Identifier(name)
        for name in columns
    )


def upsert_rows(table: str, missing: Collection[str] = ()) -> sql.Composed:
    """Return one statement for any number of rows; each parameter is a whole column, those that are missing left out."""
    stored = {name: kind for name, kind in COLUMNS.items() if name not in missing}
    values = [
        sql.SQL("{}::{}[]").format(
            sql.Placeholder(format=PyFormat.BINARY), sql.SQL(kind.split()[0].partition("(")[0])
        )
        for kind in stored.values()
    ]
    changes = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in list(stored)[1:]]
    if CHANGED not in missing:
        changes.append(sql.SQL("{} = DEFAULT").format(sql.Identifier(CHANGED)))
    return sql.SQL("INSERT INTO {} ({}) SELECT * FROM unnest({}) ON CONFLICT (id) DO UPDATE SET {}").format(
        sql.Identifier(table), names(list(stored)), sql.SQL(", ").join(values), sql.SQL(", ").join(changes)
    )


def to_columns(items: Sequence[Item], missing: Collection[str] = ()) -> list[list[Any]]:
    """Return the parameters of `upsert_rows`, in the order of ids, so that two writers never wait for each other."""
    latest = {item.info.id: item for item in items}
    rows = [latest[id] for id in sorted(latest)]
    infos = [info_values(item.info) for item in rows]
    columns: list[list[Any]] = [[info[n] for info in infos] for n in range(len(INFO_COLUMNS))]
    for name, values in zip(INFO_COLUMNS, columns, strict=True):
        if name in TEXTS:
            values[:] = [None if value is None else to_text(value) for value in values]
    columns.append([item.thumbnail for item in rows])
    columns.append([to_half(item.embedding) for item in rows])
    columns.append([None if i.caption_embedding is None else to_half(i.caption_embedding) for i in rows])
    return [values for name, values in zip(COLUMNS, columns, strict=True) if name not in missing]


def to_info(row: Sequence[Any]) -> PictureInfo:
    """Turn INFO_COLUMNS, in their order, into a record."""
    return PictureInfo(*map(from_text, row))


def to_item(row: Sequence[Any]) -> Item:
    """Turn all columns, in their order, into an item."""
    end = len(INFO_COLUMNS)
    thumbnail, embedding, of_caption = row[end:]
    return Item(
        to_info(row[:end]), to_vector(embedding), bytes(thumbnail), of_caption and to_vector(of_caption)
    )


def to_conditions(
    where: Filter, column: str, missing: Collection[str] = ()
) -> tuple[sql.Composed, list[Any]]:
    """Return the condition that a row passes a filter and has a value in `column`, and its parameters."""
    clauses = [sql.SQL("{} IS NOT NULL").format(sql.Identifier(column))]
    if where.area is not None and "latitude" in missing:
        return sql.Composed([sql.SQL("false")]), []  # nothing in this table has a position
    values: list[Any] = []
    for name, comparison, value in conditions(where):
        if comparison == "starts_with":  # every path that starts with "/a/" is between "/a/" and "/a0"
            clauses.append(sql.SQL("{0} >= %s AND {0} < %s").format(sql.Identifier(name)))
            values += [to_text(value), to_text(value[:-1] + chr(ord(value[-1]) + 1))]
        elif comparison == "contains":
            clauses.append(sql.SQL("strpos({}, %s) > 0").format(sql.Identifier(name)))
            values.append(to_text(value))
        elif comparison == "in":
            clauses.append(sql.SQL("{} = ANY(%s)").format(sql.Identifier(name)))
            values.append([to_text(text) for text in value])
        elif comparison == "none or":
            if name not in missing:  # a table without the column has none
                clauses.append(sql.SQL("({0} IS NULL OR {0} = %s)").format(sql.Identifier(name)))
                values.append(value)
        else:
            clauses.append(sql.SQL("{} {} %s").format(sql.Identifier(name), sql.SQL(comparison)))
            values.append(to_text(value) if isinstance(value, str) else value)
    return sql.SQL(" AND ").join(clauses), values


def to_half(vector: Floats) -> HalfVector:
    """Convert to half precision for storage; this changes a cosine by less than 0.001."""
    return HalfVector(vector.astype(np.float16))


def to_vector(value: HalfVector) -> Floats:
    """Convert to single precision for callers."""
    return value.to_numpy().astype(np.float32)
