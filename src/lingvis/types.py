"""The values that pass between stages."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

# The languages of the rows of a batch, known on the host: (language number, number of consecutive rows) in order.
Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """A batch of sets or sequences of vectors.

    values: [batch, length, dim]; mask: bool [batch, length], true where a vector is valid.
    Every row has at least one valid vector; valid vectors need not come first.
    runs: for sentences, the languages of the rows, for parts that have one layer per language.
    """

    values: Tensor
    mask: Tensor
    runs: Runs = ()

    @property
    def lengths(self) -> Tensor:
        """Number of valid vectors of each row, int64 [batch]."""
        return self.mask.sum(dim=1)


@dataclass(frozen=True, slots=True)
class SpelledWords:
    """The distinct words of a batch by their letters, for parts that compose a word from its spelling.

    ids: int64 [words], ascending, with special tokens; the last may be repeated to fill up to a round number.
    letters: int64 [words, letters], letter numbers from 1 on, 0 after the end of the word.
    """

    ids: Tensor
    letters: Tensor


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Tokenised sentences.

    ids: int64 [batch, length], padded at the end; mask: bool [batch, length].
    runs: the languages of the rows. words: the spelling of the words, from tokenizers that spell.
    """

    ids: Tensor
    mask: Tensor
    runs: Runs = ()
    words: SpelledWords | None = None


@dataclass(frozen=True, slots=True)
class TextStates:
    """All that a text side computes for a batch on its way to one vector per sentence.

    words: vectors without context [B, L, word dim].
    is_word: bool [B, L], the tokens that averages are over: all valid ones except special tokens, or all valid
    ones of a sentence that has no others.
    average: the mean word vector [B, word dim].
    states: vectors in context [B, L, hidden].
    sentence: the pooled and projected vector [B, dim].
    """

    words: Tokens
    is_word: Tensor
    average: Tensor
    states: Tokens
    sentence: Tensor


@dataclass(frozen=True, slots=True)
class Clock:
    """The progress of training; objectives that change over time read it and keep no counter of their own."""

    step: int = 0
    epoch: int = 0
