"""From special names of things to the words that people write: WordNet knows that a Saluki is a dog."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.lexicon.wordnet import Synset, data_lines, read_synsets
from lingvis.text.segment import words

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
        data, index = (folder / name for name in FILES)
        self._synsets = {synset.offset: synset for synset in read_synsets(data)}
        if not all(above in self._synsets for synset in self._synsets.values() for above in synset.above):
            raise UserError(f"{data} points to nouns that it lacks; get the file again")
        self._senses: dict[str, list[Synset]] = {}
        for number, line in data_lines(index):
            try:
                word, _, count, *rest = line.split()
                senses = [self._synsets[offset] for offset in rest[-int(count) :]]
            except (KeyError, ValueError) as error:
                raise UserError(
                    f"{index}, line {number} is no noun of WordNet: {line[:60]!r}; get the file again"
                ) from error
            self._senses[word.replace("_", " ")] = senses
        if not self._senses:
            raise UserError(f"{index} has no nouns; get the file again")

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
            known = [each for synset in level for each in synset.names if _use(each, used)]
            if known:
                return max(known, key=lambda each: (_use(each, used), len(each))).lower()
            level = [self._synsets[above] for synset in level for above in synset.above]
        return name

    def _meant(self, name: str) -> Synset | None:
        """The sense of a name: one that is spelled like it, an animal before other things, the most frequent first."""
        senses = self._senses.get(name.lower(), [])
        alike = [synset for synset in senses if name in synset.names] or senses
        things = (synset for files in THINGS for synset in alike if synset.file in files)
        return next(things, None) or next(iter(alike), None)


def _use(name: str, used: Mapping[str, int]) -> int:
    """How often the rarest word of a name is used."""
    return min((used.get(word, 0) for word in words(name, LANG)), default=0)
