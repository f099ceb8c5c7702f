"""From special names of things to the words that people write: WordNet knows that a Saluki is a dog."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.segment import words
from lingvis.text.wordnet import data_lines

LANG = "en"
STEPS = 4  # from a Saluki to a dog; what lies higher is "whole" and "object"
# Files of WordNet's lexicographers: animals, artifacts, food, natural objects, plants. A boxer is a dog to a detector.
THINGS = {"05", "06", "13", "17", "20"}
FILES = ("data.noun", "index.noun")


class Hypernyms:
    """Names of things, each with the more general ones above it."""

    def __init__(self, folder: Path) -> None:
        """Read data.noun and index.noun, as Debian's package wordnet-base puts them into /usr/share/wordnet."""
        self._folder = folder
        self._names: dict[str, tuple[str, ...]] = {}
        self._above: dict[str, tuple[str, ...]] = {}
        self._things: set[str] = set()
        for number, line in data_lines(folder / "data.noun"):
            try:
                self._read_synset(line.split(" | ")[0].split())
            except (IndexError, ValueError) as error:
                raise _damaged(folder / "data.noun", number, line) from error
        self._senses: dict[str, list[str]] = {}
        for number, line in data_lines(folder / "index.noun"):
            try:
                word, _, count, *rest = line.split()
                senses = rest[-int(count) :]
                if not all(sense in self._names for sense in senses):
                    raise ValueError("an unknown sense")
            except ValueError as error:
                raise _damaged(folder / "index.noun", number, line) from error
            self._senses[word.replace("_", " ")] = senses

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the files that were read."""
        return hashlib.sha256(b"".join((self._folder / name).read_bytes() for name in FILES)).hexdigest()

    def everyday(self, name: str, used: Mapping[str, int]) -> str:
        """The nearest name of a thing that is in use: its own, or one of a more general thing; its own if there is none.

        used: the words in use, and how often they are. A name is in use when all its words are. Of several words for the
        same thing the one used most is taken.
        """
        senses = self._senses.get(name.lower())
        if senses is None or all(word in used for word in words(name, LANG)):
            return name
        level = [next((sense for sense in senses if sense in self._things), senses[0])]
        for _ in range(1 + STEPS):
            known = [word for sense in level for word in self._names[sense] if word in used]
            if known:
                return max(known, key=lambda word: used[word])
            level = [above for sense in level for above in self._above[sense]]
        return name

    def _read_synset(self, fields: list[str]) -> None:
        """Offset, file, kind, count of words (hexadecimal), each word and its number, count of pointers, each in four."""
        offset, file, words_end = fields[0], fields[1], 4 + 2 * int(fields[3], 16)
        pointers = fields[words_end + 1 : words_end + 1 + 4 * int(fields[words_end])]
        self._names[offset] = tuple(word.lower() for word in fields[4:words_end:2])
        self._above[offset] = tuple(
            target for kind, target in zip(pointers[::4], pointers[1::4], strict=True) if kind in ("@", "@i")
        )
        if file in THINGS:
            self._things.add(offset)


def _damaged(file: Path, number: int, line: str) -> UserError:
    return UserError(f"{file}, line {number} is no line of WordNet: {line[:60]!r}; get the file again")
