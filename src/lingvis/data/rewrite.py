"""Other rows for a dataset: in the same folder, or in a copy of it with the same pictures and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lingvis.data.dataset import CAPTION_FILES, Dataset, captions_file, write_rows
from lingvis.data.importers.pictures import place_tree
from lingvis.data.rows import Row
from lingvis.errors import UserError
from lingvis.files import atomic_file, atomic_folder


def check_copy(dataset: Path, out: Path) -> None:
    """Raise if a copy of a dataset cannot be written to `out`."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out} exists; name a new folder for the copy, or change {out} itself without `out`")
    here, there = dataset.resolve(), out.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise UserError(f"{out} and {dataset} contain one another; name another folder for the copy")


def write_dataset(dataset: Dataset, rows: Sequence[Row], out: Path | None = None) -> Dataset:
    """Replace the rows of a dataset, or write a copy with these rows to the new folder `out`; in one step.

    Everything else in the copy is hard-linked, or copied where links are impossible; hidden files are left out.
    """
    file = captions_file(dataset.path)
    if out is None:
        with atomic_file(file) as temporary:
            write_rows(temporary, rows)
        return Dataset.open(dataset.path)
    check_copy(dataset.path, out)
    with atomic_folder(out) as folder:
        for entry in dataset.path.iterdir():
            if entry.name in CAPTION_FILES or entry.name.startswith("."):
                continue
            if entry.is_symlink():
                (folder / entry.name).symlink_to(entry.resolve())
            else:
                place_tree(entry, folder / entry.name)
        write_rows(folder / file.name, rows)
        written = Dataset.open(folder)
    return replace(written, path=out)
