"""A dictionary file -> word -> its translations; the suffix decides the format."""

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
    """Word -> its distinct translations in the order of the file, in our spelling (`lingvis.text.segment`).

    `.index`, `.dict` and `.dict.dz` belong to a dictd dictionary (FreeDict), which consists of two files. `.csv` has
    two columns, a word and a translation, and an optional header source,target or word,translation. Any other file
    is text in MUSE's format: a word and a translation per line, separated by a tab or a space.
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
    """Pairs of a word and a translation -> word -> its distinct translations, in order."""
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
                    f"dictionary {path}, line {rows.line_num}: {len(row)} columns in {','.join(row)!r}; a line needs "
                    'two, a word and a translation, in "quotes" if they contain a comma'
                )
            if rows.line_num > 1 or tuple(field.strip().lower() for field in row) not in CSV_HEADERS:
                yield row[0], row[1]
    except csv.Error as error:
        raise UserError(
            f"dictionary {path}, line {rows.line_num}: {error}; close every quote, and double the quotes inside a word"
        ) from error


def _text_pairs(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise UserError(
                f"dictionary {path}, line {number}: {len(fields)} fields in {line.strip()!r}; a line needs two, "
                "a word and a translation, separated by a tab if they contain spaces"
            )
        yield fields[0], fields[1]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"dictionary {path} is not UTF-8 text; convert it, for example with iconv") from error
    except OSError as error:
        raise UserError(
            f"dictionary {path} cannot be read: {error.strerror}; name a file that exists"
        ) from error
