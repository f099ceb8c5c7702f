"""The version of a LanceDB table that is safely on the disk, and how to return to it.

LanceDB writes a new version without flushing it. After a power cut its files may be empty, so a version that was not
flushed is dropped before anything else is written, and readers never use it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.strict import StrictModel
from lingvis.untrusted import read_json

FILE = "flushed.json"
LARGEST = 2**64 - 1  # LanceDB names a manifest by this minus its version, so that the latest comes first


class Flushed(StrictModel, strict=True):
    """flushed.json: a table, and its last version that is on the disk."""

    table: str
    version: Annotated[int, Field(ge=0, lt=2**63)]


def record(folder: Path, table: str, version: int) -> None:
    """Record that all files of this version are on the disk."""
    if flushed(folder, table) != version:
        write_json(folder / FILE, {"table": table, "version": version})


def flushed(folder: Path, table: str) -> int | None:
    """Return the version that was recorded last; None for a table that has none."""
    try:
        fields = Flushed.model_validate(read_json(folder / FILE))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UserError(
            f"{folder / FILE} is damaged; delete it and try again: the collection then opens at its latest version"
        ) from error
    return fields.version if fields.table == table else None


def go_back(table: Any, folder: Path, name: str) -> None:
    """Make the recorded version the latest again; the caller must hold the lock of the writer."""
    version = flushed(folder, name)
    if version is not None and table.version != version:
        table.checkout(version)
        table.restore()
        drop_between(folder, name, version, int(table.version))


def drop_between(folder: Path, table: str, version: int, end: int = LARGEST) -> None:
    """Drop the manifests of the versions between two versions."""
    for path in (folder / f"{table}.lance" / "_versions").glob("*.manifest"):
        if path.stem.isdecimal() and version < LARGEST - int(path.stem) < end:
            path.unlink()
