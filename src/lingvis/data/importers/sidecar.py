"""A folder of pictures with captions beside them: dog.jpg, dog.txt (one caption per line), dog.de.txt."""

from __future__ import annotations

from pathlib import Path

from lingvis.data.importers.collect import RowCollector
from lingvis.data.importers.contract import ImportedRows, ImportOptions
from lingvis.data.importers.pictures import list_pictures
from lingvis.data.importers.source import Source, parse_language
from lingvis.errors import UserError
from lingvis.printing import printable


def read(source: Source, options: ImportOptions) -> ImportedRows:
    """Rows with one caption per non-empty line; the split is options.split or chosen by the picture's name, 80/10/10."""
    if source.path.is_file():
        raise UserError(
            f"{source.path} is a file; folder needs a folder of pictures with .txt files beside them"
        )
    base = options.images or source.path
    pictures: dict[str, list[str]] = {}
    for file in list_pictures(base):
        name = file.relative_to(base).as_posix()
        pictures.setdefault(name[: -len(file.suffix)], []).append(name)
    rows, without_picture, described = RowCollector(), [], set()
    stems = set(pictures)
    for file in sorted(source.path.rglob("*.txt")):
        stem, lang = _stem_and_language(file.relative_to(source.path), stems, options)
        if stem is None:
            without_picture.append(file.name)
            continue
        with rows.collecting():
            name = _only(pictures[stem], file)
            described.add(name)
            if lang is None:
                raise UserError(
                    f"{file} does not state its language; set language, or rename the file to {file.stem}.en.txt"
                )
            for number, line in enumerate(source.lines(file), start=1):
                if line:
                    rows.add(name, options.split, lang, line, where=f"{file}, line {number}")
    without_caption = sum(map(len, pictures.values())) - len(described)
    notes = [f"pictures without captions left out: {without_caption}"] if without_caption else []
    if without_picture:
        first = printable(without_picture[0])
        notes.append(f"text files without a picture left out: {len(without_picture)}, {first} first")
    return rows.imported(notes=notes)


def _stem_and_language(
    file: Path, pictures: set[str], options: ImportOptions
) -> tuple[str | None, str | None]:
    """The picture's path without suffix, and the language; a.de.txt belongs to a.de.jpg if that exists."""
    stem = file.as_posix().removesuffix(".txt")
    if stem in pictures:
        return stem, options.language
    before, _, code = stem.rpartition(".")
    lang = parse_language(code)
    return (before, lang) if lang and before in pictures else (None, None)


def _only(names: list[str], file: Path) -> str:
    if len(names) > 1:
        raise UserError(f"{file} belongs to both {names[0]} and {names[1]}; rename one of the pictures")
    return names[0]
