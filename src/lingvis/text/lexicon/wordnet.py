"""WordNet's data files: the base forms of an English word and its synonyms."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError

# Things are nouns and properties adjectives; with verbs, "stand" would be a synonym of "bear".
KINDS = ("noun", "adj")
ENDINGS = {  # of WordNet's morphy
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}


ABOVE = ("@", "@i")  # pointers from a thing to its kind


@dataclass(frozen=True, slots=True)
class Synset:
    """Names of one thing or property.

    file: the number of the lexicographer file, which identifies the kind of thing; above: the offsets of more general
    synsets.
    """

    offset: str
    file: str
    names: tuple[str, ...]
    above: tuple[str, ...]


class WordNet:
    """Sets of synonyms; names are in lower case, with spaces between the words of a name."""

    def __init__(self, folder: Path) -> None:
        """Read data.KIND and KIND.exc, which Debian's package wordnet-base installs in /usr/share/wordnet."""
        self._folder = folder
        self._synsets = {kind: _by_word(folder / f"data.{kind}") for kind in KINDS}
        self._exceptions = {kind: _read_exceptions(folder / f"{kind}.exc") for kind in KINDS}

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the files that were read."""
        digest = hashlib.sha256()
        for kind in KINDS:
            for name in (f"data.{kind}", f"{kind}.exc"):
                digest.update((self._folder / name).read_bytes())
        return digest.hexdigest()

    def bases(self, word: str, kind: str) -> list[str]:
        """The forms of a word that WordNet lists: the word itself and its irregular or regular base forms."""
        forms = self._exceptions[kind].get(word) or [
            word.removesuffix(ending) + base for ending, base in ENDINGS[kind] if word.endswith(ending)
        ]
        return [form for form in dict.fromkeys([word, *forms]) if form in self._synsets[kind]]

    def synonyms(self, word: str) -> set[str]:
        """All names in all synsets of a word, including the word and its base forms; empty for an unknown word."""
        return {
            synonym
            for kind in KINDS
            for base in self.bases(word, kind)
            for synset in self._synsets[kind][base]
            for synonym in synset
        }


def _by_word(file: Path) -> dict[str, list[tuple[str, ...]]]:
    """Word -> its synsets."""
    synsets: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for synset in read_synsets(file):
        names = tuple(name.lower() for name in synset.names)
        for name in dict.fromkeys(names):
            synsets[name].append(names)
    return dict(synsets)


def read_synsets(file: Path) -> Iterator[Synset]:
    """The synsets of data.KIND, in the order of the file."""
    for number, line in data_lines(file):
        try:
            yield _synset(line.split(" | ")[0].split())
        except (IndexError, ValueError) as error:
            raise UserError(
                f"{file}, line {number} is not a synset of WordNet: {line[:60]!r}; download the file again"
            ) from error


def _synset(fields: list[str]) -> Synset:
    """Fields: offset, file, kind, count of words (hexadecimal), word and number, ..., count of pointers, four each."""
    end = 4 + 2 * int(fields[3], 16)
    count = int(fields[end])
    pointers = fields[end + 1 : end + 1 + 4 * count]
    if len(pointers) != 4 * count:
        raise ValueError("pointers are missing")
    above = [target for kind, target in zip(pointers[::4], pointers[1::4], strict=True) if kind in ABOVE]
    # An adjective may end in a mark of its position: "afloat(p)".
    names = [word.partition("(")[0].replace("_", " ") for word in fields[4:end:2]]
    return Synset(offset=fields[0], file=fields[1], names=tuple(names), above=tuple(above))


def _read_exceptions(file: Path) -> dict[str, list[str]]:
    """Irregular form -> its base forms."""
    exceptions = {}
    for _, line in data_lines(file):
        form, *bases = (word.replace("_", " ") for word in line.split())
        exceptions[form] = bases
    return exceptions


def data_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file without its licence, which is indented."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(
            f"WordNet's {file} cannot be read: {error.strerror}; name the folder with "
            f"{file.name}, on Debian /usr/share/wordnet of package wordnet-base"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 at byte {error.start}; download the file again") from error
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("  "):
            yield number, line
