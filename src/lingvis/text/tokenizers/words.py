"""Words of any script by ICU's boundaries, one vocabulary for all languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from lingvis.arrays import Ints
from lingvis.bounds import Count
from lingvis.errors import UserError
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
from lingvis.untrusted import read_json


@TOKENIZERS.register("words", "words of any script by ICU's boundaries, between a start and an end token")
class WordTokenizer(Tokenizer):
    """The words that occur at least `min_count` times in the training captions of all languages.

    Words that several languages spell alike share an id. With `min_count` = 1 no training caption has an unknown
    word, so the vector of `unknown` is never trained: unknown words of later sentences are dropped, unless a sentence
    has no others.
    """

    FILE = "vocabulary.json"

    def __init__(self, *, min_count: Count) -> None:
        self.min_count = min_count
        self._set([])

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Collect the vocabulary, most frequent words first, ties in alphabetical order."""
        counts = Counter(word for text, lang in zip(texts, langs, strict=True) for word in words(text, lang))
        kept = [(word, count) for word, count in counts.items() if count >= self.min_count]
        if not kept:
            raise UserError(
                f"no word occurs {self.min_count} times in the {len(texts)} training captions; "
                "lower text.tokenizer.min_count or give more captions"
            )
        self._set([word for word, _ in sorted(kept, key=lambda item: (-item[1], item[0]))])

    def save(self, folder: Path) -> None:
        """Write the list of words into a model folder."""
        write_json(folder / self.FILE, {"words": self.words})

    def load(self, folder: Path) -> None:
        """Read the files that `save` wrote."""
        stored = read_json(folder / self.FILE)["words"]
        if not all(isinstance(word, str) for word in stored) or len(set(stored)) != len(stored):
            raise ValueError("its words must be strings, each once")
        self._set(stored)

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
        return [self._encode(words(text, lang)) for text, lang in zip(texts, langs, strict=True)]

    def _encode(self, pieces: Iterable[str]) -> Ints:
        inner = [self._ids.get(word, UNKNOWN) for word in pieces]
        if self.min_count == 1:
            inner = [number for number in inner if number != UNKNOWN] or inner
        return np.asarray([START, *inner, END], dtype=np.int64)

    def _set(self, vocabulary: list[str]) -> None:
        self.words = vocabulary
        self._ids = {word: index + len(SPECIAL_TOKENS) for index, word in enumerate(vocabulary)}
        size = len(SPECIAL_TOKENS) + len(vocabulary)
        self.vocabulary = Vocabulary(size=size, pad=PAD, mask=MASK, special=tuple(range(len(SPECIAL_TOKENS))))
