"""A copy of the columns that exact search needs, so that a process with one query need not load the engine.

Loading LanceDB takes longer than everything else in a search from the command line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from lingvis.collection.stores.lance.rows import schema
from lingvis.collection.stores.records import CAPTION_EMBEDDING, EMBEDDING, INFO_COLUMNS
from lingvis.files import atomic_file
from lingvis.untrusted import check_regular

FILE = "rows.arrow"
COLUMNS = [*INFO_COLUMNS, EMBEDDING, CAPTION_EMBEDDING]


def write_snapshot(folder: Path, rows: pa.Table, name: str, version: int) -> None:
    """Write the rows of a version of the table; a disk without space or permission leaves no snapshot."""
    marked = rows.select(COLUMNS).replace_schema_metadata(_mark(name, version))
    with (
        contextlib.suppress(OSError),
        atomic_file(folder / FILE) as temporary,
        pa.OSFile(str(temporary), "wb") as out,
        pa.ipc.new_file(out, marked.schema) as writer,
    ):
        writer.write_table(marked)


def has_snapshot(folder: Path, name: str, version: int, dim: int) -> bool:
    """Return whether there is a snapshot of this version; its rows may still be damaged."""
    try:
        with _opened(folder) as reader:
            return _fits(reader.schema, name, version, dim)
    except (OSError, ValueError, pa.ArrowException):
        return False


def read_snapshot(folder: Path, name: str, version: int, dim: int) -> pa.Table | None:
    """Return the rows of this version; None if there is no valid snapshot of it."""
    try:
        with _opened(folder) as reader:
            if not _fits(reader.schema, name, version, dim):
                return None
            rows = reader.read_all()
            rows.validate(full=True)  # the file may come from a stranger
            return rows
    except (OSError, ValueError, pa.ArrowException):
        return None


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[Any]:
    check_regular(folder / FILE)
    with pa.memory_map(str(folder / FILE)) as file, pa.ipc.open_file(file) as reader:
        yield reader


def _fits(stored: Any, name: str, version: int, dim: int) -> bool:
    expected = pa.schema([schema(dim).field(column) for column in COLUMNS])
    return bool(stored.metadata == _mark(name, version) and stored.equals(expected))


def _mark(name: str, version: int) -> dict[bytes, bytes]:
    return {b"table": name.encode(), b"version": str(version).encode()}
