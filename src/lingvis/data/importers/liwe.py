"""LIWE's layout (Wehrmann et al., 2019): precomp arrays with {split}_caps.<lang>.txt for several languages."""

from __future__ import annotations

from pathlib import Path

from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.precomp import join
from lingvis.data.importers.source import SPLIT_NAMES, Source, language_code
from lingvis.errors import UserError


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """train_caps.de.txt beside train_ims.npy, or caps.de.txt beside ims.npy (in a folder a split, or one split)."""
    if source.path.is_file():
        raise UserError(
            f"{source.path} is a file; liwe needs the folder with train_ims.npy and train_caps.en.txt"
        )
    parts = {
        prefix: (name, found)
        for prefix, name in _places(options)
        if (found := _captions(source.path, prefix))
    }
    if not parts:
        raise UserError(
            f"{source.path} has no {{split}}_caps.<lang>.txt; "
            "files named caps.<lang>.txt without a split need --split"
        )
    return join(source, parts, options)


def _places(options: ImportOptions) -> list[tuple[str, str]]:
    """Where files of a split may lie: prefix of their paths, name of the split."""
    places = [(f"{name}{between}", name) for name in SPLIT_NAMES for between in ("_", "/")]
    return [*places, ("", options.split)] if options.split else places


def _captions(folder: Path, prefix: str) -> dict[str, Path]:
    """Caption file of each language."""
    start = f"{prefix}caps.".rpartition("/")[2]
    files = sorted(folder.glob(f"{prefix}caps.*.txt"))
    return {
        language_code(file.name.removeprefix(start).removesuffix(".txt"), file.name): file for file in files
    }
