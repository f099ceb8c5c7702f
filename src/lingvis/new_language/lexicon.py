"""Words of a new language and their translations into a known one: from its sentences, and from a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lingvis.new_language.material import Part
from lingvis.text.dictionaries.read import collect
from lingvis.text.segment import words as split

Dictionary = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """induced: what the sentences tell, word of the new language -> words of the known one.

    given: the same from a dictionary, and ways: the other way round, translations in the order of its file. counts: how
    often the sentences use a word of the new language.
    """

    induced: Dictionary
    given: Dictionary
    ways: Dictionary
    counts: Counter[str]

    @property
    def translations(self) -> dict[str, tuple[str, ...]]:
        """Word of the new language -> words of the known one; sentences come before the dictionary, which knows less of
        what is meant here."""
        return {**self.given, **self.induced}

    def spoken(self) -> dict[str, str]:
        """Word of the known language -> how to say it in the new one.

        What sentences tell comes first; of several words the one that the sentences use most, the first of equals.
        """
        found: dict[str, str] = {}
        for ways in (turned(self.induced), self.ways):
            for known, words in ways.items():
                found.setdefault(known, max(words, key=lambda word: self.counts[word]))
        return found


def turned(dictionary: Dictionary) -> dict[str, tuple[str, ...]]:
    """The other way round."""
    return collect((other, word) for word, others in dictionary.items() for other in others)


def find_lexicon(part: Part, lang: str, pivot: str, dictionary: Dictionary) -> Lexicon:
    """What can be known of the words in `part`; dictionary: between both languages, in either direction.

    Its side of the new language is the one that the sentences know more words of.
    """
    from lingvis.text.alignment.induction import induce_dictionary

    sentences = [split(text, lang) for text in part.texts]
    pairs = [
        (words, split(known, pivot))
        for words, group in zip(sentences, part.groups, strict=True)
        for each, known in part.known[group]
        if each == pivot
    ]
    counts = Counter(word for words in sentences for word in words)
    one = _single_words(dictionary)
    other = turned(one)
    given, ways = (one, other) if _known(counts, one) >= _known(counts, other) else (other, one)
    return Lexicon(induce_dictionary(pairs), given, ways, counts)


def _single_words(dictionary: Dictionary) -> dict[str, tuple[str, ...]]:
    """A sentence is put together word by word: expressions of several words are left out."""
    pairs = ((word, each) for word, others in dictionary.items() for each in others)
    return collect((word, each) for word, each in pairs if " " not in word and " " not in each)


def _known(counts: Counter[str], dictionary: Dictionary) -> int:
    """How many words of the sentences a dictionary has."""
    return sum(count for word, count in counts.items() if word in dictionary)
