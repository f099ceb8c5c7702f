"""Multi30K (Elliott et al., 2016): translations of task 1 and descriptions of task 2, in line-aligned lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.source import Source, bare_name, split_name
from lingvis.errors import UserError, choices

# train.en belongs to task 1, train.3.en is the third description of task 2.
CAPTION_FILE = re.compile(r"(?P<set>train|val|test\w*)\.((?P<number>\d+)\.)?(?P<lang>[a-z]{2,3})")
DEFAULT_TESTS = ("test_2016_flickr", "test_2016", "test")


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows from the folder of a task, or of both: then `captions` come from task 2 and `parallel` from task 1."""
    folders = _task_folders(source.path)
    matches = {file: match for folder in folders for file, match in _caption_files(folder).items()}
    if not matches:
        raise UserError(
            f"{source.path} has no file like train.en, train.1.de.gz or raw/train.en; name the task's folder"
        )
    rows = RowCollector()
    # Task 2 first: a sentence of task 1 becomes a caption only in languages that task 2 lacks.
    for task in (2, 1):
        files = {file: match for file, match in matches.items() if bool(match["number"]) == (task == 2)}
        for name in _sets_to_read({match["set"] for match in files.values()}, source.path):
            chosen = {file: match for file, match in files.items() if match["set"] == name}
            _read_set(source, rows, name, chosen, options)
    return rows.imported()


def _task_folders(path: Path) -> list[Path]:
    for base in (path, path / "data"):
        tasks = [base / name for name in ("task1", "task2") if (base / name).is_dir()]
        if tasks:
            return tasks
    return [path]


def _caption_files(folder: Path) -> dict[Path, re.Match[str]]:
    place = folder / "raw" if (folder / "raw").is_dir() else folder
    if not place.is_dir():
        raise UserError(f"{folder} is a file; multi30k needs the folder of a task")
    matches = {file: CAPTION_FILE.fullmatch(bare_name(file)) for file in sorted(place.iterdir())}
    return {file: match for file, match in matches.items() if match}


def _sets_to_read(names: Iterable[str], where: Path) -> list[str]:
    """train, val and one test set: the set of 2016, or the only one."""
    names = set(names)
    tests = sorted(name for name in names if name.startswith("test"))
    preferred = [name for name in DEFAULT_TESTS if name in tests] or tests
    if len(tests) > 1 and preferred == tests and tests[0] not in DEFAULT_TESTS:
        raise UserError(f"{where} has several test sets and none of 2016: {choices(tests)}; keep one of them")
    return [name for name in ("train", "val") if name in names] + preferred[:1]


def _read_set(
    source: Source, rows: RowCollector, name: str, files: dict[Path, re.Match[str]], options: ImportOptions
) -> None:
    first = next(iter(files))
    listing = _image_list(first.parent, name)
    # A line is the name of a picture, in some lists with the number of a caption: 123.jpg#2.
    images = [line.split("#")[0] for line in source.lines(listing)]
    split = options.split or split_name(name.split("_")[0], first.name)
    columns = {file: source.lines(file) for file in files}
    for file, lines in columns.items():
        if len(lines) != len(images):
            raise UserError(
                f"{file} has {len(lines)} lines for {len(images)} images in {listing}; they must be aligned"
            )
    for number, image in enumerate(images):
        where = f"{name}, line {number + 1}"
        translations: dict[str, str] = {}
        with rows.collecting():
            for file, match in files.items():
                if match["number"]:
                    rows.add(image, split, match["lang"], columns[file][number], where=where)
                else:
                    translations[match["lang"]] = columns[file][number]
            if translations:
                rows.add_parallel(image, split, translations, where=where)


def _image_list(folder: Path, name: str) -> Path:
    places = [base / "image_splits" for base in (folder, folder.parent)] + [folder]
    files = [file for place in places if place.is_dir() for file in sorted(place.iterdir())]
    for listing in (f"{name}.txt", f"{name}_images.txt"):
        for file in files:
            if bare_name(file) == listing:
                return file
    # Task 2 calls its test set test_2016, some copies of its list test_2016_flickr.
    similar = [file for file in files if file.name.startswith(name) and bare_name(file).endswith(".txt")]
    if len(similar) != 1:
        raise UserError(f"no list of the pictures of {name}; put image_splits/{name}.txt beside {folder}")
    return similar[0]
