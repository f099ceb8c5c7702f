"""Sentences -> token ids: the vocabulary is made from training captions only and travels with the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lingvis.registry import Registry


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
