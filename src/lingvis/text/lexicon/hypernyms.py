"""From special names of things to everyday words: in WordNet a Saluki is a dog."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.lexicon.wordnet import Synset, data_lines, read_synsets
from lingvis.text.segment import words

LANG = "en"
STEPS = 4  # as many as from Saluki to dog; higher synsets are as general as "artifact" and "object"
# Numbers of WordNet's lexicographer files for the senses that a detector may mean: first animals, then artifacts, food,
# natural objects and plants. So a boxer is a dog, and a beaver is not a hat.
THINGS = ({"05"}, {"06", "13", "17", "20"})
FILES = ("data.noun", "index.noun")


class Hypernyms:
    """Nouns of WordNet, each with the more general nouns above it."""

    def __init__(self, folder: Path) -> None:
        """Read data.noun and index.noun, which Debian's package wordnet-base installs in /usr/share/wordnet."""
        self._folder = folder
        data, index = (folder / name for name in FILES)
        self._synsets = {synset.offset: synset for synset in read_synsets(data)}
        if not all(above in self._synsets for synset in self._synsets.values() for above in synset.above):
            raise UserError(f"{data} points to nouns that are missing; download the file again")
        self._senses: dict[str, list[Synset]] = {}
        for number, line in data_lines(index):
            try:
                word, _, count, *rest = line.split()
                senses = [self._synsets[offset] for offset in rest[-int(count) :]]
            except (KeyError, ValueError) as error:
                raise UserError(
                    f"{index}, line {number} is not a noun of WordNet: {line[:60]!r}; download the file again"
                ) from error
            self._senses[word.replace("_", " ")] = senses
        if not self._senses:
            raise UserError(f"{index} has no nouns; download the file again")

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the files that were read."""
        return hashlib.sha256(b"".join((self._folder / name).read_bytes() for name in FILES)).hexdigest()

    def everyday(self, name: str, used: Mapping[str, int]) -> str:
        """The nearest name of a thing that people use: the name itself or a more general one, if there is any.

        used: words that people use -> how often. A name is in use when all its words are. Among several names of one
        thing, the name whose rarest word is most frequent wins; in case of a tie, the longer name.
        """
        sense = self._sense(name)
        if sense is None or _use(name, used):
            return name
        level = [sense]
        for _ in range(1 + STEPS):
            candidates = [
                candidate for synset in level for candidate in synset.names if _use(candidate, used)
            ]
            if candidates:
                return max(candidates, key=lambda candidate: (_use(candidate, used), len(candidate))).lower()
            level = [self._synsets[above] for synset in level for above in synset.above]
        return name

    def _sense(self, name: str) -> Synset | None:
        """The most likely sense of a name: with this exact spelling, animals before other things, frequent senses first."""
        senses = self._senses.get(name.lower(), [])
        alike = [synset for synset in senses if name in synset.names] or senses
        things = (synset for files in THINGS for synset in alike if synset.file in files)
        return next(things, None) or next(iter(alike), None)


def _use(name: str, used: Mapping[str, int]) -> int:
    """How often people use the rarest word of a name."""
    return min((used.get(word, 0) for word in words(name, LANG)), default=0)
