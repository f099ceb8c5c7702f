"""The nouns that pass between stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Tokens:
    """A batch of sets or sequences of vectors.

    values: [batch, length, dim]; mask: bool [batch, length], true where a vector is valid.
    Every row has at least one valid vector; valid vectors need not come first.
    runs: of sentences, the languages of the rows as in TextBatch, for parts that have one layer a language.
    """

    values: Tensor
    mask: Tensor
    runs: tuple[tuple[int, int], ...] = ()

    @property
    def lengths(self) -> Tensor:
        """Number of valid vectors of each row, int64 [batch]."""
        return self.mask.sum(dim=1)


@dataclass(frozen=True, slots=True)
class SpelledWords:
    """The distinct words of a batch by their letters, for parts that compose a word from its spelling.

    ids: int64 [words], ascending, special tokens included; the last may be repeated to fill up to a round number.
    letters: int64 [words, letters], letter numbers from 1 on, 0 behind the end of the word.
    """

    ids: Tensor
    letters: Tensor


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Tokenised sentences.

    ids: int64 [batch, length], padded at the end; mask: bool [batch, length].
    runs: the languages of the rows, known on the host: (language number, how many rows on end) from the first
    row on. words: their spelling, from tokenizers that spell.
    """

    ids: Tensor
    mask: Tensor
    runs: tuple[tuple[int, int], ...] = ()
    words: SpelledWords | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text side makes of a batch on its way to one vector a sentence.

    words: vectors without context [B, L, word dim]; is_word: bool [B, L], which of them averages are over: valid
    tokens but special ones, or all valid ones of a sentence that has no others; average: their mean [B, word dim];
    states: vectors in context [B, L, hidden]; sentence: pooled and projected [B, dim].
    """

    words: Tokens
    is_word: Tensor
    average: Tensor
    states: Tokens
    sentence: Tensor


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of a training step, as terms between sentences see them.

    emb: sentence embeddings, ready to be compared, [T, dim]; average: mean word vectors [T, word dim];
    groups: int64 [T], equal for sentences about one picture; langs: int64 [T], language numbers.
    """

    emb: Tensor
    average: Tensor
    groups: Tensor
    langs: Tensor


@dataclass(frozen=True, slots=True)
class Clock:
    """Where training stands; objectives that change over time read it and keep no counter of their own."""

    step: int = 0
    epoch: int = 0


@runtime_checkable
class Encoder(Protocol):
    """Inputs of one modality -> Tokens."""

    dim: int

    def __call__(self, inputs: Any) -> Tokens: ...


@runtime_checkable
class Pooler(Protocol):
    """Tokens -> one vector a row, [batch, dim]."""

    def __call__(self, tokens: Tokens) -> Tensor: ...


@runtime_checkable
class Similarity(Protocol):
    """Two sides -> scores [images, texts]; `indexable` when a nearest-neighbour index can serve it.

    pooled: whether it compares one vector a row; otherwise it prepares the Tokens of each side instead.
    """

    indexable: bool
    pooled: bool

    def prepare_images(self, emb: Any) -> Tensor: ...

    def prepare_texts(self, emb: Any) -> Tensor: ...

    def __call__(self, image_emb: Tensor, text_emb: Tensor) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """(scores [images, texts], positives bool [images, texts]) -> scalar."""

    def __call__(self, scores: Tensor, positives: Tensor, clock: Clock = ...) -> Tensor: ...
