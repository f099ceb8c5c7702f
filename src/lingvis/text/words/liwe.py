"""Learned networks from a word's letters to its vector (LIWE)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from lingvis.bounds import Count
from lingvis.layers.normalization import MaskedBatchNorm
from lingvis.recipes.rules import chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.text.tokenizers.base import PAD, UNKNOWN, Vocabulary
from lingvis.text.words.base import WORDS
from lingvis.text.words.spelled import SpelledWordPart
from lingvis.types import SpelledWords


@WORDS.register("liwe", "words from their letters by position, through fully connected layers (LIWE)")
class CharacterMLP(SpelledWordPart):
    """Concatenated letter vectors [words, word_length * letter_dim] -> layers -> [words, dim].

    Every layer, the last one too, is a linear map with weight norm, batch norm and a leaky ReLU of slope 0.1
    (Wehrmann et al. 2019, LIWE-GRU(f1, f2); Burns et al. 2020 call 24-d letters S-LIWE and 120-d ones L-LIWE).
    Batch statistics count each distinct word of a batch once, without padding and `unknown`, which never occurs
    in spelled sentences; the mask token counts, since augmentation may put it into any batch. Positions after the end of
    a word are zero.
    """

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The batch norms need whole batches."""
        yield from chunk_problems(recipe, "the batch norms of text.words liwe need")

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        letter_dim: Count = 24,
        layers: Sequence[Count] = (384, 448),
        dim: Count = 300,
    ) -> None:
        super().__init__(vocabulary=vocabulary, dim=dim)
        self.letters = nn.Embedding(vocabulary.letters, letter_dim, padding_idx=0)
        widths = [vocabulary.word_length * letter_dim, *layers, dim]
        self.layers = nn.ModuleList(_Layer(wide, narrow) for wide, narrow in pairwise(widths))

    def compose(self, words: SpelledWords) -> Tensor:
        values: Tensor = self.letters(words.letters).flatten(1)
        first = torch.ones_like(words.ids[:1], dtype=torch.bool)
        distinct = torch.cat([first, words.ids[1:] != words.ids[:-1]])  # the last is repeated as padding
        real = distinct & (words.ids != PAD) & (words.ids != UNKNOWN)
        for layer in self.layers:
            values = layer(values, real)
        return values


class _Layer(nn.Module):
    """A linear map with weight norm, then batch norm and leaky ReLU; the batch norm has the bias."""

    def __init__(self, input_dim: int, dim: int) -> None:
        super().__init__()
        self.linear = weight_norm(nn.Linear(input_dim, dim, bias=False))
        self.norm = MaskedBatchNorm(dim, whole=True)  # over the distinct words of a batch

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        return F.leaky_relu(self.norm(self.linear(values), mask), 0.1)
