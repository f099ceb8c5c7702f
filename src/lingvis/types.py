"""The values that pass between stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

# The languages of the rows of a batch, known on the host: (language number, number of consecutive rows) in order.
Runs = tuple[tuple[int, int], ...]
# What the host knows of the lengths of the rows of a batch, (end, count) in order: from the end before, or 0, to `end`, at
# most `count` rows have a token. The last end is the length of the batch. Empty if it is not known.
Stages = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """A batch of sets or sequences of vectors.

    values: [batch, length, dim]; mask: bool [batch, length], true where a vector is valid.
    Every row has at least one valid vector; valid vectors need not come first.
    runs: for sentences, the languages of the rows, for parts that have one layer per language. stages: of sentences.
    fillers: bool [batch], true for rows that only fill up a batch to a round number; None if there are none.
    """

    values: Tensor
    mask: Tensor
    runs: Runs = ()
    stages: Stages = ()
    fillers: Tensor | None = None

    @property
    def counted(self) -> Tensor:
        """The vectors that statistics over a batch come from, bool [batch, length]: the valid ones, without fillers."""
        return self.mask if self.fillers is None else self.mask & ~self.fillers.unsqueeze(1)

    @property
    def lengths(self) -> Tensor:
        """Number of valid vectors of each row, int64 [batch]."""
        return self.mask.sum(dim=1)


@dataclass(frozen=True, slots=True)
class SpelledWords:
    """The distinct words of a batch by their letters, for parts that compose a word from its spelling.

    ids: int64 [words], ascending, with special tokens; the last may be repeated as padding to a round number.
    letters: int64 [words, letters], letter numbers from 1 on, 0 after the end of the word.
    """

    ids: Tensor
    letters: Tensor


@dataclass(frozen=True, slots=True)
class LanguageRows:
    """The rows of a batch by language, in a table of which the host knows the shape alone.

    rows int64 [L, N]: row numbers; valid bool [L, N]: which of them are there; langs int64 [L]: the language of each line;
    places int64 [B]: where each row of the batch is in the flattened table. L: the languages that occur; N: at least the
    most rows of one.
    """

    rows: Tensor
    valid: Tensor
    langs: Tensor
    places: Tensor

    @classmethod
    def of(cls, langs: Tensor, shape: tuple[int, int]) -> LanguageRows:
        """langs int64 [B]: the language of each row; shape: (L, N)."""
        order = langs.argsort(stable=True)
        langs = langs[order]
        position = torch.arange(len(order), device=order.device)
        is_first = torch.ones_like(langs, dtype=torch.bool)
        is_first[1:] = langs[1:] != langs[:-1]
        start = torch.where(is_first, position, 0).cummax(dim=0).values
        line, column = is_first.cumsum(dim=0) - 1, position - start
        rows = torch.full(shape, -1, device=order.device)
        rows[line, column] = order
        of_line = langs.new_zeros(shape[0]).scatter_(0, line, langs)
        places = torch.empty_like(order).scatter_(0, order, line * shape[1] + column)
        return cls(rows.clamp(min=0), rows >= 0, of_line, places)


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Tokenised sentences.

    ids: int64 [batch, length], padded at the end; mask: bool [batch, length].
    runs: the languages of the rows. stages: of their lengths. words: the spelling of the words, from tokenizers that spell.
    languages: the same as runs on the device, for words with one layer per language; None if these take the runs.
    """

    ids: Tensor
    mask: Tensor
    runs: Runs = ()
    stages: Stages = ()
    words: SpelledWords | None = None
    languages: LanguageRows | None = None

    def tokens(self, values: Tensor, mask: Tensor | None = None) -> Tokens:
        """The vectors of its tokens, [batch, length, dim]; mask: of valid ones, the batch's own by default."""
        return Tokens(values, self.mask if mask is None else mask, self.runs, self.stages)


@dataclass(frozen=True, slots=True)
class ImageStates:
    """Results of an image side for a batch: vectors [B, dim], and class_scores [B, classes] if it has classes."""

    vectors: Tensor
    class_scores: Tensor | None


@dataclass(frozen=True, slots=True)
class TextStates:
    """All intermediate results of a text side for a batch.

    words: vectors without context [B, L, word dim].
    is_word: bool [B, L], the tokens of averages: all valid tokens except special ones, or all valid tokens of
    a sentence without others.
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
    """The progress of training, for objectives that change over time.

    learning_since: the number of epochs until the end of the plateau at the beginning, on which all scores are nearly equal;
    None while it lasts.
    """

    step: int = 0
    epoch: int = 0
    learning_since: int | None = None

    def value(self, schedule: Callable[[Clock], float]) -> float | Tensor:
        """The value of a schedule now; in a recorded step a number on the device, which changes between replays."""
        return schedule(self)
