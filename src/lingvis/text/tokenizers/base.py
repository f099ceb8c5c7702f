"""The contract of tokenizers: sentences -> token ids. The vocabulary comes from training captions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from lingvis.arrays import Ints
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The properties of a tokenizer's ids that later parts need.

    size: number of ids; 0 when every word gets an id (the tokenizer spells).
    pad, mask: the ids of the padding and of the mask token. special: all ids that are not words.
    continuing: ids of pieces that continue the word of the token before them; empty if every token is a word.
    letters: number of letter numbers in spellings. word_length: number of letters that a spelling has room for.
    marks: the first of two letter numbers that no character has, for the marks before and after a word.
    languages, blocks: if languages have separate words, the ids [first, end) of each language, most frequent
    first. own_words: the words of all blocks, in the order of their ids.
    lender: the number of the language whose words also occur in sentences of other languages; -1: none.
    """

    size: int
    pad: int
    mask: int
    special: tuple[int, ...]
    continuing: tuple[int, ...] = ()
    letters: int = 0
    word_length: int = 0
    marks: int = 0
    languages: tuple[str, ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    own_words: tuple[str, ...] = ()
    lender: int = -1


class Tokenizer(RecipePart, ABC):
    """Sentences -> token ids; made with options, then fitted on training captions or loaded from a model folder.

    spells: whether every word gets an id and a spelling.
    """

    spells: ClassVar[bool] = False
    vocabulary: Vocabulary

    @abstractmethod
    def fit(self, texts: Sequence[str], langs: Sequence[str]) -> None:
        """Make the vocabulary from training captions and their languages."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the vocabulary into a model folder."""

    @abstractmethod
    def load(self, folder: Path) -> None:
        """Read the files that `save` wrote."""

    @abstractmethod
    def __call__(self, texts: Sequence[str], langs: Sequence[str]) -> list[Ints]:
        """The token ids of each sentence."""

    def spelling(self, ids: Ints) -> Ints:
        """Letter numbers [len(ids), word_length] of ids that the latest call returned, 0 after the end of a word."""
        raise NotImplementedError(f"{type(self).__name__} does not spell words")


TOKENIZERS: Registry[type[Tokenizer]] = Registry("tokenizer")

SPECIAL_TOKENS = ("<pad>", "<unknown>", "<start>", "<end>", "<mask>")
PAD, UNKNOWN, START, END, MASK = range(len(SPECIAL_TOKENS))
