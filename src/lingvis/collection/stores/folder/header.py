"""The folder of a collection: collection.json names the engine and the current table, in the same folder."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from lingvis.collection.stores.contract import MovedError
from lingvis.collection.stores.folder.lock import LOCK, one_writer
from lingvis.collection.stores.records import FORMAT, Header
from lingvis.errors import UserError
from lingvis.files import make_private_folder, write_json
from lingvis.untrusted import read_json

Engine = Literal["sqlite", "lance"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
FILE = "collection.json"
TABLE = r"items-[0-9a-f]+"  # never a path that leaves the folder
TABLES = "items-*"
# Files that hold no rows.
OTHERS = (LOCK, "flushed.json", "rows.arrow")


class FolderHeader(NamedTuple):
    """The content of collection.json; stamp: of the file that was read."""

    header: Header
    engine: Engine
    table: str
    stamp: int


def is_collection(folder: Path) -> bool:
    """Return whether a folder holds a collection."""
    return (folder / FILE).is_file()


def create_folder(
    folder: Path, header: Header, engine: Engine, make: Callable[[str], None], *, replace: bool
) -> None:
    """Make an empty collection; with `replace`, empty an existing one atomically: collection.json is written last.

    make: makes an empty table of this name, and flushes it.
    """
    if folder.exists() and not is_collection(folder) and not _left_over(folder):
        raise UserError(f"{folder} exists and holds no collection; name a new folder")
    make_private_folder(folder)
    with one_writer(folder):
        if is_collection(folder) and not replace:  # another process made it meanwhile
            return
        # What is left of attempts that failed goes at once: on a full disk the next one needs its space.
        if not is_collection(folder):
            _remove_tables(folder, lambda _: True)
        table = f"items-{time.time_ns():x}"
        try:
            make(table)
        except BaseException:
            _remove_tables(folder, lambda name: name == table)
            raise
        write_header(folder, header, engine, table)
        _remove_tables(folder, lambda name: name != table)


def write_header(folder: Path, header: Header, engine: Engine, table: str) -> None:
    """Replace collection.json atomically."""
    write_json(folder / FILE, {"engine": engine, "table": table, **header.model_dump()})


def read_header(folder: Path) -> FolderHeader:
    """Return the header of a collection, its engine and the name of its table."""
    if not is_collection(folder):
        raise UserError(
            f"no collection at {folder}; make one with: lingvis index {folder} FOLDER --model RUN"
        )
    try:
        stamp = read_stamp(folder)
        fields = read_json(folder / FILE)
        if fields["format"] != FORMAT:
            raise UserError(
                f"{folder} has collection format {fields['format']!r}, this version reads {FORMAT}; upgrade lingvis, or "
                "index the pictures into a new collection"
            )
        engine = fields.pop("engine", "lance")  # once the only one
        if engine not in ENGINES:
            raise ValueError(f"engine has the name {engine!r}")
        if not re.fullmatch(TABLE, table := fields.pop("table")):
            raise ValueError(f"table has the name {table!r}")
        return FolderHeader(Header.model_validate(fields), engine, table, stamp)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder / FILE} is damaged; restore the file or index the pictures into a new collection"
        ) from error


def read_stamp(folder: Path) -> int:
    """Return a number that changes with collection.json."""
    return (folder / FILE).stat().st_mtime_ns


def check_engine(folder: Path, stored: Engine, expected: Engine) -> None:
    """Raise if the collection is on another engine than the one that a store has open."""
    if stored != expected:
        raise MovedError(f"collection {folder} was rebuilt on another engine; open it again")


def check_model(folder: Path, before: Header, now: Header) -> None:
    """Raise if another model has filled the collection since."""
    if now.image_fingerprint != before.image_fingerprint:
        raise UserError(f"collection {folder} was rebuilt with another model; open it again")


def _left_over(folder: Path) -> bool:
    """Return whether a folder holds only the remains of a collection whose creation was killed."""
    if not folder.is_dir():
        return False
    return all(
        path.name in OTHERS or path.match(TABLES) or path.match(".*.json.*") for path in folder.iterdir()
    )


def _remove_tables(folder: Path, chosen: Callable[[str], bool]) -> None:
    for path in folder.glob(TABLES):
        if not chosen(path.name.partition(".")[0]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
