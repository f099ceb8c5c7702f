"""Write an import as a dataset folder, completely or not at all, and only if it changed."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingvis.data.dataset import CAPTION_FILES, Dataset, captions_file, list_problems, read_rows, write_rows
from lingvis.data.importers.contract import ImportedRows, Importer, ImportOptions, WriteFeatures
from lingvis.data.importers.pictures import find_pictures, place_file, place_tree
from lingvis.data.importers.source import Source, plain_text
from lingvis.errors import UserError
from lingvis.files import atomic_folder, write_json
from lingvis.lock import one_writer
from lingvis.progress import ProgressBar
from lingvis.untrusted import read_json

RECORD = "import.json"
OWN = (*CAPTION_FILES, RECORD, "images", "features")  # written by an import; other files are the user's
FEATURES = "precomp"
FORMER_NAMES = {"table": "csv", "sidecar": "folder"}  # of formats, in the records of earlier imports


@dataclass(frozen=True, slots=True)
class ImportResult:
    """dataset: the imported one; changed: whether anything was written; notes: about data that was left out."""

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
    """Read `source` with the importer `read`, registered as `name`, and write it to `target`."""
    _check_places(source, target, options.images)
    opened = Source(source, follow_links=options.follow_links)
    imported = read(opened, options)
    if imported.features is not None and write_features is None:
        raise ValueError(f"the format {name!r} contains features: pass write_features")
    pictures, problems = _pictures(imported, opened, options)
    report_problems(source, [*imported.problems, *problems])
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
    with one_writer(target), atomic_folder(target) as folder:
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


def report_problems(source: Path, problems: list[str]) -> None:
    """Raise for all problems at once; a single one is the message itself."""
    if len(problems) == 1:
        raise UserError(problems[0])
    if problems:
        raise UserError(
            f"{source} has {len(problems)} problems; nothing was written, fix them and import again:",
            list_problems(problems),
        )


def _check_places(source: Path, target: Path, images: Path | None) -> None:
    """Raise if source and target contain one another: replacing the target would delete the source."""
    if target.exists() and not target.is_dir():
        raise UserError(f"{target} is a file; name a folder for the dataset")
    goal = target.resolve()
    for place in (source.resolve(), images.resolve() if images else None):
        if place is not None and (place.is_relative_to(goal) or goal.is_relative_to(place)):
            raise UserError(f"{target} and {place} contain one another; name another folder for the dataset")


def _recordable(path: Path) -> str:
    return plain_text(str(path.resolve()), "path", "the import")


def _pictures(
    imported: ImportedRows, source: Source, options: ImportOptions
) -> tuple[dict[str, Path], list[str]]:
    if imported.features is not None and options.images is None:
        return {}, []
    return find_pictures(
        {row.image: imported.places[row.image] for row in imported.rows},
        options.images or source.folder,
        given=options.images is not None,
        follow_links=options.follow_links,
    )


def _read_record(target: Path) -> dict[str, Any] | None:
    try:
        value = read_json(target / RECORD)
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    name = str(value.get("format"))
    return {**value, "format": FORMER_NAMES.get(name, name)}


def _up_to_date(target: Path, record: dict[str, Any]) -> Dataset | None:
    """The dataset at `target` if exactly this import made it and it is still complete, else None."""
    # The source may have moved: its content counts, not its path.
    paths = ("source", "images")
    old = _read_record(target) or {}
    if any(old.get(key) != value for key, value in record.items() if key not in paths):
        return None
    try:
        dataset = Dataset.open(target)
    except UserError:
        return None
    return dataset if dataset.fingerprint == old.get("captions") else None


def _check_replaceable(target: Path, record: dict[str, Any], imported: ImportedRows, *, force: bool) -> None:
    old = _read_record(target)
    if old is None and not any((target / name).is_file() for name in CAPTION_FILES):
        # Not even force may empty a folder that is not a dataset.
        raise UserError(f"{target} holds other files and is not a dataset; name a new folder")
    if force:
        return
    same = ("format", "source", "images", "language", "split")
    if old is None or any(old.get(key) != record[key] for key in same):
        raise UserError(
            f"{target} is a dataset that was not imported from {record['source']} with these options; "
            "name another folder, or set force to replace it"
        )
    if _caption_digest(target) not in (None, old.get("captions")):
        raise UserError(f"the captions in {target} were edited after the import; set force to replace them")
    if (target / "features").is_dir() and not _same_images(target, imported):
        raise UserError(
            f"the source now has other images, so the features stored in {target} no longer match; "
            "set force to replace everything, then extract the features again"
        )


def _caption_digest(target: Path) -> str | None:
    """The fingerprint of the stored captions, even if pictures are missing; None without captions."""
    file = next((target / name for name in CAPTION_FILES if (target / name).is_file()), None)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else None


def _same_images(target: Path, imported: ImportedRows) -> bool:
    try:
        rows, problems = read_rows(captions_file(target), None)
    except UserError:
        return False
    return not problems and {row.image for row in rows} == {row.image for row in imported.rows}


def _carry_over(target: Path, folder: Path, imported: ImportedRows) -> None:
    """Link the user's files, and stored features that still match, into the new folder; the old one stays intact."""
    if not target.is_dir():
        return
    for entry in target.iterdir():
        if entry.name not in OWN:
            place_tree(entry, folder / entry.name)
    stored = target / "features"
    if not stored.is_dir() or not _same_images(target, imported):
        return
    for entry in stored.iterdir():
        # Features that came with the captions are written again.
        if entry.is_dir() and not (entry.name == FEATURES and imported.features is not None):
            place_tree(entry, folder / "features" / entry.name)
