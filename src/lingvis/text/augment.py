"""Size augmentation of the text side: mask, replace or delete words during training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import torch
from torch import Tensor, nn

from lingvis.bounds import Share
from lingvis.errors import UserError
from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.types import TextBatch


class TextAugment(RecipePart, nn.Module, ABC):
    """Changes the words of a batch in training, and nothing in evaluation mode."""

    @abstractmethod
    def forward(self, batch: TextBatch) -> TextBatch:
        """As many sentences, each with at least one token; valid tokens come first."""


TEXT_AUGMENTS: Registry[type[TextAugment]] = Registry("text augmentation")


@TEXT_AUGMENTS.register("none", "leave the words unchanged")
class KeepWords(TextAugment):
    """No augmentation."""

    def forward(self, batch: TextBatch) -> TextBatch:
        return batch


@TEXT_AUGMENTS.register("words", "mask, replace or delete some words (VSE-infinity)")
class ChangeWords(TextAugment):
    """Pick each word with probability `p`; of the picked, `masked` become the mask token, `replaced` a random
    word of the vocabulary, and the rest are deleted (Chen et al. 2021: 0.2, 0.5 and 0.1). The pieces of a word share
    its fate, each masked or replaced by itself.

    Special tokens are never picked, and a sentence never becomes empty. Deleted words leave no gap: the others move up,
    so that valid tokens still come first. With a tokenizer that spells, the vocabulary is open, and the random word is
    any word of the batch.
    """

    special: Tensor
    word_ids: Tensor
    continuing: Tensor | None

    def __init__(self, *, vocabulary: Vocabulary, p: Share, masked: Share, replaced: Share) -> None:
        super().__init__()
        if masked + replaced > 1:
            raise UserError(
                f"text.augment masks {masked} and replaces {replaced} of the picked words; the sum must be at most 1"
            )
        self.p, self.masked, self.replaced = p, masked, replaced
        self.mask_id, self.pad_id = vocabulary.mask, vocabulary.pad
        special = torch.tensor(vocabulary.special)
        ids = torch.arange(vocabulary.size)
        continuing = torch.isin(ids, torch.tensor(vocabulary.continuing)) if vocabulary.continuing else None
        self.register_buffer("special", special, persistent=False)
        self.register_buffer("continuing", continuing, persistent=False)
        self.register_buffer("word_ids", ids[~torch.isin(ids, special)], persistent=False)

    def forward(self, batch: TextBatch) -> TextBatch:
        if not self.training:
            return batch
        ids = batch.ids
        picked = (self._draws(ids) < self.p) & batch.mask & ~torch.isin(ids, self.special)
        fate = self._draws(ids)
        to_mask = picked & (fate < self.masked)
        to_replace = picked & ~to_mask & (fate < self.masked + self.replaced)
        random = self._random_words(batch)
        ids = torch.where(to_replace, random, ids.masked_fill(to_mask, self.mask_id))
        keep = batch.mask & ~(picked & ~to_mask & ~to_replace)
        keep = keep | (batch.mask & ~keep.any(dim=1, keepdim=True))
        order = (~keep).to(torch.uint8).argsort(dim=1, stable=True)
        mask = keep.gather(1, order)
        return replace(batch, ids=ids.gather(1, order).masked_fill(~mask, self.pad_id), mask=mask)

    def _draws(self, ids: Tensor) -> Tensor:
        """A random number for each word, [B, L]; all pieces of a word have the same."""
        draws = torch.rand(ids.shape, device=ids.device)
        if self.continuing is None:
            return draws
        words = (~self.continuing[ids]).cumsum(dim=1) - 1
        return draws.gather(1, words.clamp(min=0))

    def _random_words(self, batch: TextBatch) -> Tensor:
        """A random word of the vocabulary, or of the batch if the tokenizer spells, for each place [B, L]."""
        draws = torch.rand(batch.ids.shape, device=batch.ids.device)
        if batch.words is None:
            return self.word_ids[(draws * len(self.word_ids)).long()]
        words = batch.words.ids[len(self.special) :]
        if not len(words):  # no word in the batch, so nothing to replace
            words = batch.words.ids
        distinct = (words != words[-1]).sum() + 1  # the last is repeated as padding
        return words[(draws * distinct).long()]
