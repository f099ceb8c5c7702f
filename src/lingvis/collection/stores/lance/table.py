"""The table of a collection on LanceDB."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from lingvis.collection.stores.folder.lock import one_writer
from lingvis.collection.stores.folder.trouble import damaged
from lingvis.collection.stores.lance.durable import FolderSync
from lingvis.collection.stores.lance.rows import schema
from lingvis.collection.stores.lance.trouble import lance_errors
from lingvis.collection.stores.lance.versions import drop_between, flushed
from lingvis.errors import UserError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lancedb


def connect(folder: Path) -> Any:
    """Open the database in a folder."""
    return lancedb.connect(str(folder))


def create_table(folder: Path, name: str, dim: int) -> None:
    """Make an empty table and flush it."""
    connect(folder).create_table(name, schema=schema(dim))
    FolderSync(folder)()


def open_table(folder: Path, name: str) -> Any:
    """Open the table of a collection; after a power cut, its last flushed version."""
    _check_files(folder / f"{name}.lance")
    try:
        with lance_errors(folder):
            return connect(folder).open_table(name)
    except UserError:
        version = flushed(folder, name)
        if version is None:
            raise
    with one_writer(folder):
        drop_between(folder, name, version)
    with lance_errors(folder):
        return connect(folder).open_table(name)


def _check_files(table: Path) -> None:
    """Raise if a table holds anything but files and folders: the engine would wait for a pipe forever."""
    for place, _, files in os.walk(table):
        for name in files:
            file = Path(place, name)
            if not file.is_file() and os.path.lexists(file):  # a writer may have removed it just now
                raise damaged(table.parent, f"{file} is not a regular file")
