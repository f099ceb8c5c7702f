"""The folder of a collection on LanceDB: collection.json names the current table, in the same folder."""

from __future__ import annotations

import os
import re
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

from lingvis.collection.stores.lance.durable import FolderSync, one_writer
from lingvis.collection.stores.lance.rows import schema
from lingvis.collection.stores.lance.snapshot import FILE as SNAPSHOT
from lingvis.collection.stores.lance.trouble import damaged, engine_errors
from lingvis.collection.stores.lance.versions import FILE as FLUSHED
from lingvis.collection.stores.lance.versions import drop_between, flushed
from lingvis.collection.stores.records import FORMAT, Header
from lingvis.errors import UserError
from lingvis.files import make_private_folder, write_json
from lingvis.untrusted import read_json

FILE = "collection.json"
TABLE = r"items-[0-9a-f]+"  # never a path that leaves the folder


def is_collection(folder: Path) -> bool:
    """Return whether a folder holds a collection."""
    return (folder / FILE).is_file()


def create_folder(folder: Path, header: Header, *, replace: bool) -> None:
    """Make an empty collection; with `replace`, empty an existing one atomically: collection.json is written last."""
    if folder.exists() and not is_collection(folder) and not _left_over(folder):
        raise UserError(f"{folder} exists and holds no collection; name a new folder")
    make_private_folder(folder)
    with one_writer(folder), engine_errors(folder):
        if is_collection(folder) and not replace:  # another process made it meanwhile
            return
        name = f"items-{time.time_ns():x}"
        connect(folder).create_table(name, schema=schema(header.dim))
        FolderSync(folder)()
        write_header(folder, header, name)
        for old in folder.glob("items-*.lance"):
            if old.name != f"{name}.lance":
                shutil.rmtree(old, ignore_errors=True)


def write_header(folder: Path, header: Header, table: str) -> None:
    """Replace collection.json atomically."""
    write_json(folder / FILE, {"table": table, **header.model_dump()})


def _left_over(folder: Path) -> bool:
    """Return whether a folder holds only the remains of a collection whose creation was killed."""
    if not folder.is_dir():
        return False
    return all(
        path.name in ("lock", FLUSHED, SNAPSHOT) or path.match("items-*.lance") or path.match(".*.json.*")
        for path in folder.iterdir()
    )


def connect(folder: Path) -> Any:
    """Open the database in a folder."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import lancedb
    except ImportError as error:
        raise UserError("collections need LanceDB; run: pip install 'lingvis[index]'") from error
    return lancedb.connect(str(folder))


def open_table(folder: Path, name: str) -> Any:
    """Open the table of a collection; after a power cut, its last flushed version."""
    _check_files(folder / f"{name}.lance")
    try:
        with engine_errors(folder):
            return connect(folder).open_table(name)
    except UserError:
        version = flushed(folder, name)
        if version is None:
            raise
    with one_writer(folder):
        drop_between(folder, name, version)
    with engine_errors(folder):
        return connect(folder).open_table(name)


def _check_files(table: Path) -> None:
    """Raise if a table holds anything but files and folders: the engine would wait for a pipe forever."""
    for place, _, files in os.walk(table):
        for name in files:
            file = Path(place, name)
            if not file.is_file() and os.path.lexists(file):  # a writer may have removed it just now
                raise damaged(table.parent, ValueError(f"{file} is not a regular file"))


def read_header(folder: Path) -> tuple[Header, str]:
    """Return the header of a collection and the name of its table."""
    if not is_collection(folder):
        raise UserError(
            f"no collection at {folder}; make one with: lingvis index {folder} FOLDER --model RUN"
        )
    try:
        fields = read_json(folder / FILE)
        if fields["format"] != FORMAT:
            raise UserError(
                f"{folder} has collection format {fields['format']!r}, this version reads {FORMAT}; upgrade lingvis, or "
                "index the pictures into a new collection"
            )
        header = Header.model_validate({key: value for key, value in fields.items() if key != "table"})
        if not re.fullmatch(TABLE, table := fields["table"]):
            raise ValueError(f"table has the name {table!r}")
        return header, table
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / FILE} is damaged; restore the file or index the pictures into a new collection"
        ) from error
