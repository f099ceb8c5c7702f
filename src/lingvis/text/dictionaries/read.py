"""A dictionary file -> words with their translations; the format shows in the name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.dictionaries.dictd import dictd_pairs
from lingvis.text.segment import normalised


def read_dictionary(path: Path) -> dict[str, tuple[str, ...]]:
    """Word -> its translations in the order of the file, each once, spelled as `lingvis.text.segment` does.

    `.index`, `.dict` and `.dict.dz` belong to a dictd dictionary (FreeDict's), which is two files; any other
    name is text in MUSE's format: a word and a translation a line, with a tab or a space between them.
    """
    pairs = dictd_pairs(path) if path.name.endswith((".index", ".dict", ".dict.dz")) else _text_pairs(path)
    dictionary = collect(
        (normalised(word).strip(), normalised(translation).strip()) for word, translation in pairs
    )
    if not dictionary:
        raise UserError(
            f"dictionary {path} has no translations; use FreeDict's dictd files or MUSE's text format"
        )
    return dictionary


def collect(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Pairs of a word and a translation -> word -> translations, each once, in order."""
    found: dict[str, dict[str, None]] = {}
    for word, translation in pairs:
        if word and translation:
            found.setdefault(word, {})[translation] = None
    return {word: tuple(translations) for word, translations in found.items()}


def _text_pairs(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"dictionary {path} is not UTF-8 text; convert it, for example with iconv") from error
    except OSError as error:
        raise UserError(
            f"dictionary {path} cannot be read: {error.strerror}; give a file that exists"
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise UserError(
                f"dictionary {path}, line {number}: {len(fields)} fields in {line.strip()!r}, a line has two, "
                "a word and a translation, with one tab between them where they contain spaces"
            )
        yield fields[0], fields[1]
