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
STEPS = 4  # from a Saluki to a dog; what lies higher is "artifact" and "object"
# Files of WordNet's lexicographers, as a detector may mean a name: an animal, or else an artifact, food, a natural object
# or a plant; a boxer is a dog, and a beaver is no hat.
THINGS = ({"05"}, {"06", "13", "17", "20"})
FILES = ("data.noun", "index.noun")


class Hypernyms:
    """Names of things, each with the more general ones above it."""

    def __init__(self, folder: Path) -> None:
        """Read data.noun and index.noun, as Debian's package wordnet-base puts them into /usr/share/wordnet."""
        self._folder = folder
        self._names: dict[str, tuple[str, ...]] = {}
        self._above: dict[str, tuple[str, ...]] = {}
        self._files: dict[str, str] = {}
        for number, line in data_lines(folder / "data.noun"):
            try:
                self._read_synset(line.split(" | ")[0].split())
            except (IndexError, ValueError) as error:
                raise _damaged(folder / "data.noun", number, line) from error
        if not all(target in self._names for targets in self._above.values() for target in targets):
            raise UserError(f"{folder / 'data.noun'} points to nouns that it lacks; get the file again")
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
        if not self._senses:
            raise UserError(f"{folder / 'index.noun'} has no nouns; get the file again")

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the files that were read."""
        return hashlib.sha256(b"".join((self._folder / name).read_bytes() for name in FILES)).hexdigest()

    def everyday(self, name: str, used: Mapping[str, int]) -> str:
        """The nearest name of a thing that is in use: its own, or one of a more general thing; its own if there is none.

        used: the words in use, and how often they are. A name is in use when all its words are. Of several names for the
        same thing the one is taken whose rarest word is used most, and of two such the longer.
        """
        meant = self._meant(name)
        if meant is None or _use(name, used):
            return name
        level = [meant]
        for _ in range(1 + STEPS):
            known = [each for sense in level for each in self._names[sense] if _use(each, used)]
            if known:
                return max(known, key=lambda each: (_use(each, used), len(each))).lower()
            level = [above for sense in level for above in self._above[sense]]
        return name

    def _meant(self, name: str) -> str | None:
        """The sense of a name: one that is spelled like it, an animal before other things, the most frequent first."""
        senses = self._senses.get(name.lower(), [])
        alike = [sense for sense in senses if name in self._names[sense]] or senses
        for files in THINGS:
            for sense in alike:
                if self._files[sense] in files:
                    return sense
        return next(iter(alike), None)

    def _read_synset(self, fields: list[str]) -> None:
        """Offset, file, kind, count of words (hexadecimal), each word and its number, count of pointers, each in four."""
        offset, end = fields[0], 4 + 2 * int(fields[3], 16)
        count = int(fields[end])
        pointers = fields[end + 1 : end + 1 + 4 * count]
        if len(pointers) != 4 * count:
            raise ValueError("too few pointers")
        self._files[offset] = fields[1]
        self._names[offset] = tuple(word.replace("_", " ") for word in fields[4:end:2])
        self._above[offset] = tuple(
            target for kind, target in zip(pointers[::4], pointers[1::4], strict=True) if kind in ("@", "@i")
        )


def _use(name: str, used: Mapping[str, int]) -> int:
    """How often the rarest word of a name is used."""
    return min((used.get(word, 0) for word in words(name, LANG)), default=0)


def _damaged(file: Path, number: int, line: str) -> UserError:
    return UserError(f"{file}, line {number} is no line of WordNet: {line[:60]!r}; get the file again")
