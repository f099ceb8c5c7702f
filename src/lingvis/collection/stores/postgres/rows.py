"""Items as rows of a PostgreSQL table, and back; filters as its conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.adapt import PyFormat

from lingvis.collection.filters import conditions
from lingvis.collection.stores.contract import Entry, Filter, Floats, Item

# Texts are compared by code points, as Python does: a folder is then a range of paths, and an index finds it.
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
    "note": "text",
    "lang": "text",
    "thumbnail": "bytea NOT NULL",
    "embedding": "halfvec({dim}) NOT NULL",
    "note_embedding": "halfvec({dim})",
}
# Vectors stay in the row as far as a page has room, where a scan finds them; thumbnails never do.
STORAGE = {"thumbnail": "external", "embedding": "main", "note_embedding": "main"}
ENTRY = list(COLUMNS)[:11]
SEARCHED = ("path", "date", "size", "format")
TEXTS = {"id", "path", "hash", "format", "note", "lang"}
# PostgreSQL takes neither the null character nor half a pair of surrogates; they are written as \x1b and four digits.
REFUSED, WRITTEN = re.compile("[\0\x1b\ud800-\udfff]"), re.compile("\x1b([0-9a-f]{4})")


def create_table(table: str, dim: int) -> sql.Composed:
    """Statements for the table of a collection and the indexes for its filters."""
    size = sql.Literal(dim)
    columns = [
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind).format(dim=size))
        for name, kind in COLUMNS.items()
    ]
    made = [sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(table), sql.SQL(", ").join(columns))]
    made += [
        sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET STORAGE {}").format(
            sql.Identifier(table), sql.Identifier(name), sql.SQL(kind)
        )
        for name, kind in STORAGE.items()
    ]
    made += [
        sql.SQL("CREATE INDEX {} ON {} ({})").format(*map(sql.Identifier, (f"{table}_{name}", table, name)))
        for name in SEARCHED
    ]
    return sql.SQL("; ").join(made)


def names(columns: Sequence[str]) -> sql.Composed:
    """Column names, with commas."""
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def upsert_rows(table: str) -> sql.Composed:
    """One statement for any number of rows, each parameter a whole column."""
    values = [
        sql.SQL("{}::{}[]").format(
            sql.Placeholder(format=PyFormat.BINARY), sql.SQL(kind.split()[0].partition("(")[0])
        )
        for kind in COLUMNS.values()
    ]
    changes = [sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in list(COLUMNS)[1:]]
    return sql.SQL("INSERT INTO {} ({}) SELECT * FROM unnest({}) ON CONFLICT (id) DO UPDATE SET {}").format(
        sql.Identifier(table), names(list(COLUMNS)), sql.SQL(", ").join(values), sql.SQL(", ").join(changes)
    )


def to_columns(items: Sequence[Item]) -> list[list[Any]]:
    """The parameters of `upsert_rows`; in the order of ids, so that two writers never wait for each other."""
    latest = {item.entry.id: item for item in items}
    rows = [latest[id] for id in sorted(latest)]
    columns: list[list[Any]] = [[getattr(item.entry, name) for item in rows] for name in ENTRY]
    for name, values in zip(ENTRY, columns, strict=True):
        if name in TEXTS:
            values[:] = [None if value is None else to_text(value) for value in values]
    columns.append([item.thumbnail for item in rows])
    columns.append([to_half(item.embedding) for item in rows])
    columns.append([None if i.note_embedding is None else to_half(i.note_embedding) for i in rows])
    return columns


def to_entry(row: Sequence[Any]) -> Entry:
    """The columns ENTRY, in their order."""
    return Entry(**{name: from_text(value) for name, value in zip(ENTRY, row, strict=True)})


def to_item(row: Sequence[Any]) -> Item:
    """All columns, in their order."""
    thumbnail, embedding, noted = row[len(ENTRY) :]
    return Item(
        to_entry(row[: len(ENTRY)]), to_vector(embedding), bytes(thumbnail), noted and to_vector(noted)
    )


def to_conditions(where: Filter, column: str) -> tuple[sql.Composed, list[Any]]:
    """The condition that a row passes a filter and has a vector in `column`, and its parameters."""
    clauses = [sql.SQL("{} IS NOT NULL").format(sql.Identifier(column))]
    values: list[Any] = []
    for name, comparison, value in conditions(where):
        if comparison == "starts_with":  # all that begins with "/a/" lies between "/a/" and "/a0"
            clauses.append(sql.SQL("{0} >= %s AND {0} < %s").format(sql.Identifier(name)))
            values += [to_text(value), to_text(value[:-1] + chr(ord(value[-1]) + 1))]
        else:
            clauses.append(sql.SQL("{} {} %s").format(sql.Identifier(name), sql.SQL(comparison)))
            values.append(to_text(value) if isinstance(value, str) else value)
    return sql.SQL(" AND ").join(clauses), values


def to_text(text: str) -> str:
    """A text without what PostgreSQL refuses; `from_text` gives back what it was."""
    if text.isprintable():
        return text
    return REFUSED.sub(lambda found: f"\x1b{ord(found[0]):04x}", text)


def from_text(value: Any) -> Any:
    """Undo `to_text`; anything but texts stays as it is."""
    if isinstance(value, str) and "\x1b" in value:
        return WRITTEN.sub(lambda found: chr(int(found[1], 16)), value)
    return value


def to_half(vector: Floats) -> HalfVector:
    """As vectors are stored: in half precision, which moves a cosine by less than 0.001."""
    return HalfVector(vector.astype(np.float16))


def to_vector(value: HalfVector) -> Floats:
    """As callers take vectors: in single precision."""
    return value.to_numpy().astype(np.float32)
