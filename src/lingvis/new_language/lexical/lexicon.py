"""Translations of single words between a new language and a known one, from sentences and from a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lingvis.new_language.language_data import SentenceGroups
from lingvis.text.dictionaries.read import collect
from lingvis.text.segment import words as split

Dictionary = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class BilingualLexicon:
    """Word translations from two sources: sentences with their translations, and the user's dictionary.

    induced: word of the new language -> words of the known language, from sentences. dictionary: the same from the
    user's dictionary. reverse: the other direction of the dictionary, in the order of the file. counts: frequency of
    words of the new language in the sentences.
    """

    induced: Dictionary
    dictionary: Dictionary
    reverse: Dictionary
    counts: Counter[str]

    @property
    def translations(self) -> dict[str, tuple[str, ...]]:
        """Word of the new language -> words of the known language; sentences come before the dictionary, since they
        show the meaning of a word in this dataset."""
        return {**self.dictionary, **self.induced}

    def into_new_language(self) -> dict[str, str]:
        """Word of the known language -> one word of the new language.

        Sentences come before the dictionary. Of several words, the most frequent in the sentences is taken; in
        case of a tie, the first.
        """
        chosen: dict[str, str] = {}
        for direction in (turned(self.induced), self.reverse):
            for known, words in direction.items():
                chosen.setdefault(known, max(words, key=lambda word: self.counts[word]))
        return chosen


def turned(dictionary: Dictionary) -> dict[str, tuple[str, ...]]:
    """The other direction of a dictionary."""
    return collect((other, word) for word, others in dictionary.items() for other in others)


def find_lexicon(part: SentenceGroups, lang: str, pivot: str, dictionary: Dictionary) -> BilingualLexicon:
    """Word translations between `lang` and `pivot`; dictionary: between both languages, in either direction.

    The side of the dictionary with more words of the sentences counts as the new language.
    """
    from lingvis.text.alignment.induction import induce_dictionary

    sentences = [split(text, lang) for text in part.texts]
    pairs = [
        (words, split(known, pivot))
        for words, group in zip(sentences, part.groups, strict=True)
        for known_lang, known in part.known[group]
        if known_lang == pivot
    ]
    counts = Counter(word for words in sentences for word in words)
    one = _single_words(dictionary)
    other = turned(one)
    forward, reverse = (one, other) if _covered(counts, one) >= _covered(counts, other) else (other, one)
    return BilingualLexicon(induce_dictionary(pairs), forward, reverse, counts)


def _single_words(dictionary: Dictionary) -> dict[str, tuple[str, ...]]:
    """Entries with one word on both sides: glosses are made word by word."""
    pairs = ((word, other) for word, others in dictionary.items() for other in others)
    return collect((word, other) for word, other in pairs if " " not in word and " " not in other)


def _covered(counts: Counter[str], dictionary: Dictionary) -> int:
    """Number of words of the sentences that a dictionary has."""
    return sum(count for word, count in counts.items() if word in dictionary)
