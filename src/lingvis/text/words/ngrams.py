"""Word vectors as sums of hashed character n-grams."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS
from lingvis.text.words.spelled import SpelledWordPart
from lingvis.types import SpelledWords

# Letters times powers of BASE, modulo PRIME, stay below 2**62. BASE is large, so that short n-grams mix too.
PRIME = 2**31 - 1
BASE = 1_540_483_477


@WORDS.register("ngrams", "words from their character n-grams, hashed into a table")
class HashedNgrams(SpelledWordPart):
    """Sum of the vectors of a word's n-grams and of the word itself, over the root of their number, [words, dim].

    n-grams have `shortest` to `longest` letters; the marks before and after the word count as letters (Bojanowski et
    al. 2017). The hash of letters c is sum_i c_i BASE^i mod PRIME mod buckets; the powers of the whole word start one
    higher, which distinguishes it from n-grams. Division by the root of the number keeps the spread of short and
    long words equal to one table row, U(-0.1, 0.1) at the start. No letters: zero.
    """

    powers: Tensor

    def __init__(
        self, *, vocabulary: Vocabulary, dim: Count, buckets: Count, shortest: Count = 2, longest: Count = 5
    ) -> None:
        super().__init__(vocabulary=vocabulary, dim=dim)
        self.width = width = vocabulary.word_length + 2  # with the marks
        if not shortest <= longest <= width:
            raise UserError(
                f"text.words has n-grams of {shortest} to {longest} letters; "
                f"give shortest <= longest <= {width}, the length of a word with its marks"
            )
        self.buckets, self.shortest, self.longest = buckets, shortest, longest
        self.drop = 0.0  # share of the n-grams to leave out in training, so that each becomes useful alone
        self.before, self.after = vocabulary.marks, vocabulary.marks + 1
        self.table = nn.EmbeddingBag(buckets + 1, dim, mode="sum", padding_idx=buckets)
        nn.init.uniform_(self.table.weight, -0.1, 0.1)
        self.table.weight.data[buckets].zero_()  # the row for no n-gram
        powers = torch.tensor([pow(BASE, exponent, PRIME) for exponent in range(width + 1)])
        self.register_buffer("powers", powers, persistent=False)

    def compose(self, words: SpelledWords) -> Tensor:
        marked, sizes = self._marked(words.letters)
        hashed = [self._hash(marked.unsqueeze(1), self.powers[1:], sizes > 0)]
        place = torch.arange(self.width, device=marked.device)
        for size in range(self.shortest, self.longest + 1):
            starts = place[: self.width - size + 1]
            windows = marked[:, starts.unsqueeze(1) + place[:size]]
            hashed.append(self._hash(windows, self.powers[:size], starts + size <= sizes))
        rows = torch.cat(hashed, dim=1)
        if self.training and self.drop > 0:
            rows = rows.masked_fill(torch.rand(rows.shape, device=rows.device) < self.drop, self.buckets)
        count = (rows != self.buckets).sum(dim=1, keepdim=True).clamp(min=1)
        summed: Tensor = self.table(rows)
        return summed * count.to(summed.dtype).rsqrt()

    def _marked(self, letters: Tensor) -> tuple[Tensor, Tensor]:
        """Words with their marks [words, word_length + 2] and their sizes with marks [words, 1]; 0: no letters."""
        length = (letters > 0).sum(dim=1, keepdim=True)
        edge = torch.zeros_like(length)
        marked = torch.cat([edge + self.before, letters, edge], dim=1)
        place = torch.arange(self.width, device=letters.device)
        marked = torch.where(place == length + 1, self.after, marked)
        return marked, torch.where(length > 0, length + 2, 0)

    def _hash(self, windows: Tensor, powers: Tensor, inside: Tensor) -> Tensor:
        """Table rows [words, windows] of letters [words, windows, size]; outside a word, the row for no n-gram."""
        mixed = (windows * powers % PRIME).sum(dim=-1) % PRIME % self.buckets
        return mixed.masked_fill(~inside, self.buckets)
