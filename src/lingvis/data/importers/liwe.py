"""LIWE's layout (Wehrmann et al., 2019): precomp arrays with {split}_caps.<lang>.txt for several languages."""

from __future__ import annotations

from pathlib import Path

from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.precomp import join
from lingvis.data.importers.source import SPLIT_NAMES, Source, language_code
from lingvis.errors import UserError


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from train_caps.de.txt beside train_ims.npy, or from caps.de.txt beside ims.npy (one folder per split)."""
    if source.path.is_file():
        raise UserError(
            f"{source.path} is a file; liwe needs the folder with train_ims.npy and train_caps.en.txt"
        )
    parts = {
        prefix: (name, files)
        for prefix, name in _places(options)
        if (files := _captions(source.path, prefix))
    }
    if not parts:
        raise UserError(
            f"{source.path} has no {{split}}_caps.<lang>.txt; for files named caps.<lang>.txt, set split"
        )
    return join(source, parts, options)


def _places(options: ImportOptions) -> list[tuple[str, str]]:
    """Places of the files of a split: the prefix of their paths, and the name of the split."""
    places = [(f"{name}{between}", name) for name in SPLIT_NAMES for between in ("_", "/")]
    return [*places, ("", options.split)] if options.split else places


def _captions(folder: Path, prefix: str) -> dict[str, Path]:
    """Language -> its caption file."""
    start = f"{prefix}caps.".rpartition("/")[2]
    files = sorted(folder.glob(f"{prefix}caps.*.txt"))
    return {
        language_code(file.name.removeprefix(start).removesuffix(".txt"), file.name): file for file in files
    }
