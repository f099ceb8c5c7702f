"""Dictionaries in dictd format, as FreeDict publishes them: an index of words with offsets into a text file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lingvis.errors import UserError
from lingvis.untrusted import read_unpacked

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {char: value for value, char in enumerate(_DIGITS)}
_ABOUT = ("00database", "00-database")  # entries about the dictionary itself
_AFTER_WORD = re.compile(r"\s+[/<\[].*")  # pronunciation, grammar, subject
_REMARK = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)|\{[^}]*\}")
_SENSE = re.compile(r"\d+\.\s")
_BETWEEN = re.compile(r"[,;،，；、]")


def dictd_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a word and a translation in the order of the text; `path` is either of the two files."""
    stem = re.sub(r"\.(index|dict|dict\.dz)$", "", path.name)
    index = path.with_name(f"{stem}.index")
    text = _read_text(path.with_name(f"{stem}.dict"))
    for offset, length, word in sorted(_places(index, len(text))):
        try:
            entry = text[offset : offset + length].decode()
        except UnicodeDecodeError as error:
            raise UserError(
                f"{index}: the entry of {word!r} is not UTF-8; download the dictionary again"
            ) from error
        yield from _entry_pairs(word, entry)


def _read_text(plain: Path) -> bytes:
    """The text of `.dict` or `.dict.dz`; dictzip is gzip with an additional index, which is not needed here."""
    packed = plain.with_name(f"{plain.name}.dz")
    try:
        return read_unpacked(plain if plain.exists() else packed)
    except FileNotFoundError as error:
        raise UserError(
            f"neither {plain} nor {packed.name} exists; put one of them beside the index"
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(
            f"{plain if plain.exists() else packed} cannot be read: {error}; download the dictionary again"
        ) from error


def _places(index: Path, size: int) -> Iterator[tuple[int, int, str]]:
    """Offset, length and word of every entry in a text of `size` bytes."""
    try:
        lines = index.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UserError(
            f"{index} cannot be read: {error.strerror}; a dictd dictionary needs it beside its text"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{index} is not UTF-8; download the dictionary again") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        word, *place = line.split("\t")
        # A third value repeats the word in its original spelling.
        if len(place) not in (2, 3) or not all(value and set(value) <= _VALUES.keys() for value in place[:2]):
            raise UserError(
                f"{index}, line {number}: {line!r} is not a word, an offset and a length with tabs between them; "
                "download the dictionary again"
            )
        offset, length = _number(place[0]), _number(place[1])
        if offset + length > size:
            raise UserError(
                f"{index}, line {number}: the entry of {word!r} ends at byte {offset + length}, but the text has {size}; "
                "download both files of the dictionary again"
            )
        if not word.startswith(_ABOUT):
            yield offset, length, word.strip()


def _number(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 64 + _VALUES[digit]
    return value


def _entry_pairs(word: str, entry: str) -> Iterator[tuple[str, str]]:
    """The translations of an entry, for the word in the index and the word in the entry's first line.

    The two differ in apostrophes and vowel signs, which the index omits. Notes, synonyms and examples are
    indented by three or more spaces.
    """
    head, *lines = entry.split("\n")
    spellings = {word: None, _AFTER_WORD.sub("", head): None}
    for line in lines:
        if line.startswith(("   ", " see:")):
            continue
        meaning = _SENSE.sub("", _REMARK.sub("", line), count=1)
        for translation in _BETWEEN.split(meaning):
            for spelling in spellings:
                yield spelling, translation
