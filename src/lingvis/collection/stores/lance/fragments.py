"""Files of rows that other processes write into the folder of a table, and that its one writer adds by their names.

Nobody reads such a file before it is added. One that never is (its writer or the process that adds was killed) is removed
with the other unused files when small files are merged, a week later.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.collection.stores.folder.header import read_header
from lingvis.collection.stores.lance.rows import to_table
from lingvis.collection.stores.lance.trouble import lance_errors
from lingvis.collection.stores.records import Item
from lingvis.errors import UserError
from lingvis.files import sync

PACKAGE = "lance"  # of pylance
FORKS = "lance is not fork-safe"  # its warning; lingvis forks only to start other programs


@dataclass(frozen=True, slots=True)
class FragmentWriter:
    """Writes rows of new pictures into the folder of a collection, from any process on any machine that reaches it.

    table: its name, which no other collection has.
    """

    folder: str
    table: str
    dim: int

    def __call__(self, items: Sequence[Item]) -> list[str]:
        """Write and flush rows; returns what describes their files. Raises UserError where this is not possible."""
        folder = Path(self.folder)
        if not has_lance() or read_header(folder).table != self.table:
            raise UserError(f"rows cannot be written to {folder} here")
        table = folder / f"{self.table}.lance"
        if table.stat().st_uid != os.geteuid():  # the owner of the collection might not read the files
            raise UserError(f"another user owns {table}")
        with lance_errors(folder):
            fragments = _lance().fragment.write_fragments(
                to_table(items, self.dim), str(table), mode="append"
            )
            for file in [file for fragment in fragments for file in fragment.files]:
                sync(table / "data" / file.path)
            sync(table / "data")
        return [json.dumps(fragment.to_json()) for fragment in fragments]


def has_lance() -> bool:
    """Return whether pylance is installed; LanceDB alone can neither write such files nor add them."""
    return importlib.util.find_spec(PACKAGE) is not None


def _lance() -> Any:
    warnings.filterwarnings("ignore", FORKS)
    try:
        importlib.import_module(f"{PACKAGE}.fragment")
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        raise UserError(f"pylance cannot be used ({error}); install it again, or remove it") from error


def add_fragments(table: Path, names: Sequence[str], *, rows: int, version: int) -> None:
    """Add files to a version of a table, all of them or none; they must be there, whole, and have this number of rows."""
    lance = _lance()
    fragments: list[Any] = [lance.FragmentMetadata.from_json(name) for name in names]
    for file in [file for fragment in fragments for file in fragment.files]:
        path = table / "data" / file.path
        if not path.is_file() or path.stat().st_size != file.file_size_bytes:
            raise UserError(
                f"a worker wrote {path}, which is not whole on this machine; every machine must see the same folder "
                f"{table.parent}, or have another one at this path"
            )
    if sum(fragment.physical_rows for fragment in fragments) != rows:
        raise UserError(
            f"{len(fragments)} files of workers in {table.parent} hold other rows than these reported; nothing was added, "
            "run the command again"
        )
    lance.LanceDataset.commit(str(table), lance.LanceOperation.Append(fragments), read_version=version)
