"""Sentences -> token ids: the vocabulary is made from training captions only and travels with the model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lingvis.config import Count
from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.registry import Registry
from lingvis.text.segment import words


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What later parts need to know of a tokenizer's ids: how many, which pads and masks, which are no words.

    size: 0 when any word has an id (the tokenizer spells). letters: how many letter numbers spellings use, and
    word_length: how many letters a spelling has room for. languages and blocks: where each language has words
    of its own, the ids [first, behind the last) of each, most frequent first. own_words: those words, by id
    from the first block on.
    """

    size: int
    pad: int
    mask: int
    special: tuple[int, ...]
    letters: int = 0
    word_length: int = 0
    languages: tuple[str, ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    own_words: tuple[str, ...] = ()


class Tokenizer(Protocol):
    """Made with options, then fitted on training captions or loaded from a model folder."""

    vocabulary: Vocabulary

    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None: ...

    def load(self, folder: Path) -> None: ...

    def save(self, folder: Path) -> None: ...

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[NDArray[np.int64]]: ...


@runtime_checkable
class SpellingTokenizer(Tokenizer, Protocol):
    """A tokenizer that gives every word an id and can spell it."""

    def spelling(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Letter numbers [len(ids), word_length] of ids that the latest call gave out, 0 behind the end."""
        ...


TOKENIZERS: Registry[type[Tokenizer]] = Registry("tokenizer")

SPECIAL_TOKENS = ("<pad>", "<unknown>", "<start>", "<end>", "<mask>")
PAD, UNKNOWN, START, END, MASK = range(len(SPECIAL_TOKENS))


@TOKENIZERS.register("words", "words of any script by ICU, between a start and an end token")
class WordTokenizer:
    """A vocabulary of the words seen at least `min_count` times in the training captions of all languages.

    Words that several languages spell alike share an id. With `min_count` = 1 no training caption has an unknown
    word, and so that vector is never trained: later sentences are read without their unknown words, unless they
    have no other.
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
        """Write the words, one list, into a model folder."""
        write_json(folder / self.FILE, {"words": self.words})

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        stored = json.loads((folder / self.FILE).read_text(encoding="utf-8"))["words"]
        if not all(isinstance(word, str) for word in stored) or len(set(stored)) != len(stored):
            raise ValueError("its words must be strings, each once")
        self._set(stored)

    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[NDArray[np.int64]]:
        return [self._encode(words(text, lang)) for text, lang in zip(texts, langs, strict=True)]

    def _encode(self, pieces: Iterable[str]) -> NDArray[np.int64]:
        inner = [self._ids.get(word, UNKNOWN) for word in pieces]
        if self.min_count == 1:
            inner = [number for number in inner if number != UNKNOWN] or inner
        return np.asarray([START, *inner, END], dtype=np.int64)

    def _set(self, vocabulary: list[str]) -> None:
        self.words = vocabulary
        self._ids = {word: index + len(SPECIAL_TOKENS) for index, word in enumerate(vocabulary)}
        size = len(SPECIAL_TOKENS) + len(vocabulary)
        self.vocabulary = Vocabulary(size=size, pad=PAD, mask=MASK, special=tuple(range(len(SPECIAL_TOKENS))))
