"""The base of word parts that compose a word's vector from its letters: each distinct word of a batch once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.tokenizers.characters import LASTING_IDS
from lingvis.text.words.base import WordPart
from lingvis.types import SpelledWords, TextBatch, Tokens


class SpelledWordPart(WordPart):
    """TextBatch with spelled words -> [B, L, dim]; subclasses define how letters become a vector.

    Outside training, without gradients, vectors are kept: a word is composed at its first occurrence and looked up
    from then on, until a weight changes.
    """

    def __init__(self, *, vocabulary: Vocabulary, dim: int) -> None:
        super().__init__()
        if not vocabulary.letters:
            raise UserError(
                "text.words composes words from letters, but text.tokenizer does not spell; "
                "use the tokenizer characters, or the word part embedding"
            )
        self.dim = dim
        self.drop = 0.0  # share of the n-grams to leave out in training; parts without n-grams ignore it
        self._cache: _VectorCache | None = None

    @abstractmethod
    def compose(self, words: SpelledWords) -> Tensor:
        """Vectors [words, dim]; outside training a vector depends on its word alone."""

    def forward(self, batch: TextBatch) -> Tokens:
        words = batch.words
        if words is None:
            raise ValueError("the batch has no spelled words; make it with a tokenizer that spells")
        recall = not self.training and not torch.is_grad_enabled()
        vectors = self._recall(words) if recall else self.compose(words)
        return batch.tokens(F.embedding(torch.searchsorted(words.ids, batch.ids), vectors))

    def train(self, mode: bool = True) -> SpelledWordPart:
        """Switch the mode; training mode drops the kept vectors, since weights are about to change."""
        if mode:
            self._cache = None
        super().train(mode)
        return self

    def _recall(self, words: SpelledWords) -> Tensor:
        """The result of `compose`, from the kept vectors where possible."""
        state = self._state()
        if self._cache is None or self._cache.state != state:
            self._cache = _VectorCache.empty(state, words.letters, next(self.parameters()), self.dim)
        kept = self._cache
        ids = words.ids.clamp(max=LASTING_IDS - 1)
        if int(ids[-1]) >= len(kept.vectors):  # ids ascend
            kept = self._cache = kept.grown(int(ids[-1]) + 1)
        # Compare letters, not ids: another tokenizer may use the same ids for other words.
        known = (kept.letters[ids] == words.letters).all(dim=1)
        if known.all():
            return kept.vectors[ids]
        missing = (~known).nonzero().squeeze(1)
        new = SpelledWords(words.ids[missing], words.letters[missing])
        with torch.autocast(ids.device.type, enabled=False):
            composed = self.compose(new)
        vectors = kept.vectors[ids]
        vectors[missing] = composed
        lasting = new.ids < LASTING_IDS - 1
        # Vectors before letters, so that another thread that finds the letters finds the right vector.
        kept.vectors[new.ids[lasting]] = composed[lasting]
        kept.letters[new.ids[lasting]] = new.letters[lasting]
        return vectors

    def _state(self) -> tuple[tuple[int, int], ...]:
        """A value that changes whenever a weight or a running statistic is written, replaced or moved."""
        tensors = (*self.parameters(), *self.buffers())
        return tuple((each.data_ptr(), 0 if each.is_inference() else each._version) for each in tensors)


@dataclass(frozen=True, slots=True)
class _VectorCache:
    """Vectors [ids, dim] by word id with the letters [ids, C] they were composed from; -1: none yet."""

    state: tuple[tuple[int, int], ...]
    letters: Tensor
    vectors: Tensor

    @classmethod
    def empty(
        cls, state: tuple[tuple[int, int], ...], letters: Tensor, weight: Tensor, dim: int
    ) -> _VectorCache:
        """Room for the first words; letters and weight determine the widths, number types and device."""
        # Tensors made under inference mode cannot be written outside it.
        with torch.inference_mode(False):
            return cls(state, letters.new_full((1024, letters.shape[1]), -1), weight.new_zeros(1024, dim))

    def grown(self, size: int) -> _VectorCache:
        """A copy with room for at least `size` words, and for twice as many as now."""
        more = max(size, 2 * len(self.vectors)) - len(self.vectors)
        with torch.inference_mode(False):
            letters = F.pad(self.letters, (0, 0, 0, more), value=-1)
            return _VectorCache(self.state, letters, F.pad(self.vectors, (0, 0, 0, more)))
