"""WordNet from its own data files: the base forms of an English word and its synonyms."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lingvis.errors import UserError

# Names of things are nouns, names of properties adjectives; verbs would make "stand" a "bear".
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


ABOVE = ("@", "@i")  # pointers to what a thing is a kind or an example of


@dataclass(frozen=True, slots=True)
class Synset:
    """Names of one thing or property. file: the number of the lexicographers' file, which tells the kind of thing;
    above: the offsets of more general synsets."""

    offset: str
    file: str
    names: tuple[str, ...]
    above: tuple[str, ...]


class WordNet:
    """Sets of synonyms; words are in lower case, those of several words with spaces between them."""

    def __init__(self, folder: Path) -> None:
        """Read data.KIND and KIND.exc, as Debian's package wordnet-base puts them into /usr/share/wordnet."""
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
        """The forms under which WordNet knows a word: itself, and what it is an irregular or regular form of."""
        forms = self._exceptions[kind].get(word) or [
            word.removesuffix(ending) + base for ending, base in ENDINGS[kind] if word.endswith(ending)
        ]
        return [form for form in dict.fromkeys([word, *forms]) if form in self._synsets[kind]]

    def synonyms(self, word: str) -> set[str]:
        """All words of all synsets of a word, itself and its base forms among them; empty for an unknown word."""
        return {
            synonym
            for kind in KINDS
            for base in self.bases(word, kind)
            for synset in self._synsets[kind][base]
            for synonym in synset
        }


def _by_word(file: Path) -> dict[str, list[tuple[str, ...]]]:
    """Word -> its synsets."""
    found: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    for synset in read_synsets(file):
        names = tuple(name.lower() for name in synset.names)
        for name in dict.fromkeys(names):
            found[name].append(names)
    return dict(found)


def read_synsets(file: Path) -> Iterator[Synset]:
    """The synsets of data.KIND, in the order of the file."""
    for number, line in data_lines(file):
        try:
            yield _synset(line.split(" | ")[0].split())
        except (IndexError, ValueError) as error:
            raise UserError(
                f"{file}, line {number} is no synset of WordNet: {line[:60]!r}; get the file again"
            ) from error


def _synset(fields: list[str]) -> Synset:
    """Offset, file, kind, count of words (hexadecimal), each word and its number, count of pointers, each in four."""
    end = 4 + 2 * int(fields[3], 16)
    count = int(fields[end])
    pointers = fields[end + 1 : end + 1 + 4 * count]
    if len(pointers) != 4 * count:
        raise ValueError("pointers are missing")
    above = [target for kind, target in zip(pointers[::4], pointers[1::4], strict=True) if kind in ABOVE]
    # An adjective may end in a mark of where it stands: "afloat(p)".
    names = [word.partition("(")[0].replace("_", " ") for word in fields[4:end:2]]
    return Synset(offset=fields[0], file=fields[1], names=tuple(names), above=tuple(above))


def _read_exceptions(file: Path) -> dict[str, list[str]]:
    """Irregular form -> its base forms."""
    found = {}
    for _, line in data_lines(file):
        form, *bases = (word.replace("_", " ") for word in line.split())
        found[form] = bases
    return found


def data_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file, without the licence, which is indented."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UserError(
            f"WordNet's {file} cannot be read: {error.strerror}; name the folder with "
            f"{file.name}, on Debian /usr/share/wordnet of package wordnet-base"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 at byte {error.start}; get the file again") from error
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("  "):
            yield number, line
