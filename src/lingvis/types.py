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
    """

    values: Tensor
    mask: Tensor

    @property
    def lengths(self) -> Tensor:
        """Number of valid vectors of each row, int64 [batch]."""
        return self.mask.sum(dim=1)


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Tokenised sentences.

    ids: int64 [batch, length], padded at the end; mask: bool [batch, length].
    """

    ids: Tensor
    mask: Tensor


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
    """Two sides -> scores [images, texts]; `indexable` when a nearest-neighbour index can serve it."""

    indexable: bool

    def prepare_images(self, emb: Tensor) -> Tensor: ...

    def prepare_texts(self, emb: Tensor) -> Tensor: ...

    def __call__(self, image_emb: Tensor, text_emb: Tensor) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """(scores [images, texts], positives bool [images, texts]) -> scalar."""

    def __call__(self, scores: Tensor, positives: Tensor, clock: Clock = ...) -> Tensor: ...
