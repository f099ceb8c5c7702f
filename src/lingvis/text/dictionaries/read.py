"""A dictionary file -> words with their translations; the format shows in the name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.dictionaries.dictd import dictd_pairs
from lingvis.text.segment import normalised

CSV_HEADERS = (("source", "target"), ("word", "translation"))


def read_dictionary(path: Path) -> dict[str, tuple[str, ...]]:
    """Word -> its translations in the order of the file, each once, spelled as `lingvis.text.segment` does.

    `.index`, `.dict` and `.dict.dz` belong to a dictd dictionary (FreeDict's), which is two files; `.csv` has two
    columns, a word and a translation, and may name them source and target, or word and translation, in its first
    line; any other name is text in MUSE's format: a word and a translation a line, with a tab or a space between.
    """
    if path.name.endswith((".index", ".dict", ".dict.dz")):
        pairs = dictd_pairs(path)
    else:
        pairs = _csv_pairs(path) if path.suffix == ".csv" else _text_pairs(path)
    dictionary = collect(
        (normalised(word).strip(), normalised(translation).strip()) for word, translation in pairs
    )
    if not dictionary:
        raise UserError(
            f"dictionary {path} has no translations; use FreeDict's dictd files, MUSE's text format or .csv"
        )
    return dictionary


def collect(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Pairs of a word and a translation -> word -> translations, each once, in order."""
    found: dict[str, dict[str, None]] = {}
    for word, translation in pairs:
        if word and translation:
            found.setdefault(word, {})[translation] = None
    return {word: tuple(translations) for word, translations in found.items()}


def _csv_pairs(path: Path) -> Iterator[tuple[str, str]]:
    rows = csv.reader(io.StringIO(_read(path)), strict=True)
    try:
        for row in rows:
            if not any(field.strip() for field in row):
                continue
            if len(row) != 2 or not all(field.strip() for field in row):
                raise UserError(
                    f"dictionary {path}, line {rows.line_num}: {len(row)} columns in {','.join(row)!r}, a line has "
                    'two, a word and a translation, in "quotes" where they contain a comma'
                )
            if rows.line_num > 1 or tuple(field.strip().lower() for field in row) not in CSV_HEADERS:
                yield row[0], row[1]
    except csv.Error as error:
        raise UserError(
            f"dictionary {path}, line {rows.line_num}: {error}; close every quote, and double those inside a word"
        ) from error


def _text_pairs(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise UserError(
                f"dictionary {path}, line {number}: {len(fields)} fields in {line.strip()!r}, a line has two, "
                "a word and a translation, with one tab between them where they contain spaces"
            )
        yield fields[0], fields[1]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"dictionary {path} is not UTF-8 text; convert it, for example with iconv") from error
    except OSError as error:
        raise UserError(
            f"dictionary {path} cannot be read: {error.strerror}; give a file that exists"
        ) from error
