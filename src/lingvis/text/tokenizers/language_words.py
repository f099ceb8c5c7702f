"""Words with separate ids per language, even where two languages spell a word alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lingvis.arrays import Ints
from lingvis.bounds import Count
from lingvis.errors import UserError, choices
from lingvis.files import write_json
from lingvis.text.segment import words
from lingvis.text.tokenizers.base import (
    END,
    MASK,
    PAD,
    SPECIAL_TOKENS,
    START,
    TOKENIZERS,
    UNKNOWN,
    Tokenizer,
    Vocabulary,
)
from lingvis.untrusted import read_bytes

LENDER = "en"  # the language whose words replace rare words of the others


class _Language(BaseModel):
    """A language as stored: its words, and borrowed words, which have the id of an English word."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    words: list[str]
    borrowed: dict[str, str]


class _VocabularyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    languages: dict[str, _Language]


@TOKENIZERS.register(
    "language_words", "words by ICU's boundaries, with separate ids per language (MULE, SMALR)"
)
class LanguageWordTokenizer(Tokenizer):
    """The words that occur at least `min_count` times in the training captions of a language, one block per language.

    Languages come in order of first appearance, words by frequency, ties in alphabetical order. With
    `rare_below` = t and a folder of `dictionaries`, words of other languages that occur fewer than t times
    become their English translation if the English block has it, and unknown otherwise (Burns et al.
    2020, "Dictionary Mapping"). The mapping is stored, so that a saved model needs no dictionary.

    If every training word is kept (`min_count` = 1 and no mapping), the vector of `unknown` is never trained:
    unknown words of later sentences are dropped, unless a sentence has no others.
    """

    FILE = "vocabulary.json"

    def __init__(
        self, *, min_count: Count, rare_below: Annotated[int, Field(ge=0)] = 0, dictionaries: str = ""
    ) -> None:
        if (rare_below > 0) != bool(dictionaries):
            raise UserError(
                f"text.tokenizer has rare_below = {rare_below} and dictionaries = {dictionaries!r}; "
                "set both to map rare words to English, or neither"
            )
        self.min_count, self.rare_below, self.dictionaries = min_count, rare_below, dictionaries
        self._set({})

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Collect the words of each language."""
        counts: dict[str, Counter[str]] = {lang: Counter() for lang in langs}
        for text, lang in zip(texts, langs, strict=True):
            counts[lang].update(words(text, lang))
        rare = {lang: self.rare_below if lang != LENDER else 0 for lang in counts}
        kept = {lang: _frequent(counts[lang], max(self.min_count, rare[lang])) for lang in counts}
        borrowed = self._borrow(counts, kept) if self.dictionaries else {}
        empty = [lang for lang in counts if not kept[lang] and not borrowed.get(lang)]
        if empty or not counts:
            where = f"captions in {', '.join(empty)}" if empty else "0 training captions"
            raise UserError(
                f"no word occurs {self.min_count} times in the {where}; "
                "lower text.tokenizer.min_count or give more captions"
            )
        self._set({lang: _Language(words=kept[lang], borrowed=borrowed.get(lang, {})) for lang in counts})

    def _borrow(
        self, counts: Mapping[str, Counter[str]], kept: Mapping[str, list[str]]
    ) -> dict[str, dict[str, str]]:
        """Rare word -> English word, for each other language."""
        from lingvis.text.dictionaries import find_dictionaries

        if LENDER not in kept:
            raise UserError(
                f"text.tokenizer maps rare words to English, but the captions are in {choices(kept)}; "
                "add en to data.languages, or set rare_below = 0 and dictionaries = ''"
            )
        known = {word: counts[LENDER][word] for word in kept[LENDER]}
        dictionaries = find_dictionaries(Path(self.dictionaries), tuple(kept), into=LENDER, counts=known)
        return {
            lang: {
                word: dictionary[word]
                for word in sorted(counts[lang].keys() - set(kept[lang]))
                if dictionary.get(word) in known
            }
            for lang, dictionary in dictionaries.items()
        }

    def save(self, folder: Path) -> None:
        """Write the words of each language, and the mapping to English words, into a model folder."""
        write_json(folder / self.FILE, _VocabularyFile(languages=self._languages).model_dump())

    def load(self, folder: Path) -> None:
        """Read the files that `save` wrote."""
        stored = _VocabularyFile.model_validate_json(read_bytes(folder / self.FILE)).languages
        lender = set(stored[LENDER].words) if LENDER in stored else set()
        for lang, each in stored.items():
            if len(set(each.words)) != len(each.words):
                raise ValueError(f"the words of {lang} must be distinct")
            if not lender.issuperset(each.borrowed.values()):
                raise ValueError(f"{lang} borrows words that {LENDER} does not have")
        self._set(stored)

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
        unknown = set(langs) - self._ids.keys()
        if unknown:
            raise UserError(
                f"got a sentence in {choices(unknown)}, but this model has words for {choices(self._ids)}; "
                "choose one of them, or train with captions in that language"
            )
        return [self._encode(words(text, lang), lang) for text, lang in zip(texts, langs, strict=True)]

    def _encode(self, pieces: Sequence[str], lang: str) -> Ints:
        ids = self._ids[lang]
        inner = [ids.get(word, UNKNOWN) for word in pieces]
        if self.min_count == 1 and not self.rare_below:
            inner = [number for number in inner if number != UNKNOWN] or inner
        return np.asarray([START, *inner, END], dtype=np.int64)

    def _set(self, languages: dict[str, _Language]) -> None:
        self._languages = languages
        starts = np.cumsum([len(SPECIAL_TOKENS), *(len(each.words) for each in languages.values())]).tolist()
        self._ids = {
            lang: {word: first + place for place, word in enumerate(each.words)}
            for (lang, each), first in zip(languages.items(), starts, strict=False)
        }
        lends = any(each.borrowed for each in languages.values())
        lent = dict(self._ids[LENDER]) if lends else {}
        for lang, each in languages.items():
            self._ids[lang].update((word, lent[english]) for word, english in each.borrowed.items())
        self.vocabulary = Vocabulary(
            size=starts[-1],
            pad=PAD,
            mask=MASK,
            special=tuple(range(len(SPECIAL_TOKENS))),
            languages=tuple(languages),
            blocks=tuple(pairwise(starts)),
            own_words=tuple(word for each in languages.values() for word in each.words),
            lender=list(languages).index(LENDER) if lends else -1,
        )


def _frequent(counts: Counter[str], least: int) -> list[str]:
    kept = [(word, count) for word, count in counts.items() if count >= least]
    return [word for word, _ in sorted(kept, key=lambda item: (-item[1], item[0]))]
