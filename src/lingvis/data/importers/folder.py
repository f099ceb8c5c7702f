"""Writing an import as a dataset folder: whole or not at all, and never twice."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.data.dataset import CAPTION_FILES, Dataset, captions_file, read_rows, write_rows
from lingvis.data.importers.contract import ImportedRows, Importer, ImportOptions, WriteFeatures
from lingvis.data.importers.pictures import find_pictures, place_file, place_tree
from lingvis.data.importers.source import Source, plain_text
from lingvis.errors import UserError
from lingvis.files import atomic_folder, write_json
from lingvis.progress import ProgressBar

RECORD = "import.json"
OWN = (*CAPTION_FILES, RECORD, "images", "features")  # what an import writes; anything else is the user's
FEATURES = "precomp"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The dataset; whether anything was written; what was left out and why."""

    dataset: Dataset
    changed: bool
    notes: list[str]


def write_import(
    name: str,
    read: Importer,
    source: Path,
    target: Path,
    options: ImportOptions,
    *,
    force: bool,
    write_features: WriteFeatures | None,
) -> ImportResult:
    """Read `source` with the importer `read` called `name` and put it at `target`."""
    _check_places(source, target, options.images)
    opened = Source(source)
    imported = read(opened, options)
    if imported.features is not None and write_features is None:
        raise ValueError(f"the format {name!r} carries features: give write_features")
    pictures = _pictures(imported, opened, options)
    record = {
        "format": name,
        "source": _recordable(source),
        "images": _recordable(options.images) if options.images else None,
        "language": options.language,
        "split": options.split,
        "checksum": opened.checksum,
        "picture_bytes": sum(file.stat().st_size for file in pictures.values()),
    }
    if target.exists() and any(target.iterdir()):
        current = _up_to_date(target, record)
        if current is not None:
            return ImportResult(current, False, imported.notes)
        _check_replaceable(target, record, imported, force=force)
    with atomic_folder(target) as folder:
        write_rows(folder / CAPTION_FILES[0], imported.rows)
        _carry_over(target, folder, imported)
        if pictures or imported.features is None:
            with ProgressBar("pictures", len(pictures)) as bar:
                for image, file in pictures.items():
                    place_file(file, folder / "images" / image)
                    bar.advance()
        if imported.features is not None and write_features is not None:
            write_features(folder / "features" / FEATURES, imported.features.names, imported.features)
        dataset = Dataset.open(folder)
        write_json(folder / RECORD, record | {"captions": dataset.fingerprint})
    return ImportResult(dataclasses.replace(dataset, path=target), True, imported.notes)


def _check_places(source: Path, target: Path, images: Path | None) -> None:
    """Replacing the target must not take the source with it, nor may the result be read as source again."""
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file; name a folder for the dataset")
    goal = target.resolve()
    for place in (source.resolve(), images.resolve() if images else None):
        if place is not None and (place.is_relative_to(goal) or goal.is_relative_to(place)):
            raise UserError(
                f"{target} and {place} lie in one another; name a folder for the dataset elsewhere"
            )


def _recordable(path: Path) -> str:
    return plain_text(str(path.resolve()), "path", "the import")


def _pictures(imported: ImportedRows, source: Source, options: ImportOptions) -> dict[str, Path]:
    if imported.features is not None and options.images is None:
        return {}
    folder = options.images or source.folder
    return find_pictures((row.image for row in imported.rows), folder, given=options.images is not None)


def _read_record(target: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((target / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _up_to_date(target: Path, record: dict[str, Any]) -> Dataset | None:
    """The dataset at `target` when this very import made it and it is still whole."""
    # The place may have moved: what counts is what was read.
    moved = ("source", "images")
    old = _read_record(target) or {}
    if any(old.get(key) != value for key, value in record.items() if key not in moved):
        return None
    try:
        dataset = Dataset.open(target)
    except UserError:
        return None
    return dataset if dataset.fingerprint == old.get("captions") else None


def _check_replaceable(target: Path, record: dict[str, Any], imported: ImportedRows, *, force: bool) -> None:
    old = _read_record(target)
    if old is None and not any((target / name).is_file() for name in CAPTION_FILES):
        # Not even --force may empty a folder that is no dataset.
        raise UserError(f"{target} holds other files and is no dataset; name a new folder")
    if force:
        return
    same = ("format", "source", "images", "language", "split")
    if old is None or any(old.get(key) != record[key] for key in same):
        raise UserError(
            f"{target} is a dataset that was not imported from {record['source']} in this way; "
            "name another folder or replace it with --force"
        )
    if _caption_digest(target) not in (None, old.get("captions")):
        raise UserError(f"the captions in {target} were edited after the import; replace them with --force")
    if (target / "features").is_dir() and not _same_images(target, imported):
        raise UserError(
            f"the source now has other images, so the features stored in {target} no longer fit; "
            "replace all with --force and extract them again"
        )


def _caption_digest(target: Path) -> str | None:
    """The fingerprint of the stored captions, even where pictures are missing; None without captions."""
    file = next((target / name for name in CAPTION_FILES if (target / name).is_file()), None)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else None


def _same_images(target: Path, imported: ImportedRows) -> bool:
    try:
        rows, problems = read_rows(captions_file(target), None)
    except UserError:
        return False
    return not problems and {row.image for row in rows} == {row.image for row in imported.rows}


def _carry_over(target: Path, folder: Path, imported: ImportedRows) -> None:
    """Keep the user's own files, and stored features while they fit; links, so a kill leaves the old folder whole."""
    if not target.is_dir():
        return
    for entry in target.iterdir():
        if entry.name in OWN:
            continue
        if entry.is_dir():
            place_tree(entry, folder / entry.name)
        else:
            place_file(entry, folder / entry.name)
    stored = target / "features"
    if not stored.is_dir() or not _same_images(target, imported):
        return
    for entry in stored.iterdir():
        # Features that came with the captions are written anew.
        if entry.is_dir() and not (entry.name == FEATURES and imported.features is not None):
            place_tree(entry, folder / "features" / entry.name)
