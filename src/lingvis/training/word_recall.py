"""How well mean word vectors find the sentence about the same picture in another language."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.arrays import Ints
from lingvis.text.bank import TokenBank
from lingvis.types import Tokens

RANK = 10
SENTENCES_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class HeldOutSentences:
    """Sentences that no word part learns from, tokenised, and the picture of each, int64 [S]."""

    bank: TokenBank
    groups: Ints

    @torch.no_grad()
    def recall(self, words: nn.Module) -> float | None:
        """R@10 across languages by mean word vectors, in percent; None if no picture has sentences in two languages.

        The first sentence about each picture in one language is looked for among those of all pictures that have both,
        by the first sentence in another: the mean over both directions and all pairs of languages.
        """
        firsts = self._first_sentences()
        if not firsts:
            return None
        emb = self._mean_vectors(words)
        shares = []
        for one, other in firsts:
            scores = emb[one] @ emb[other].T
            right = scores.diagonal()
            shares += [(scores > right.unsqueeze(1)).sum(dim=1), (scores > right).sum(dim=0)]
        return 100 * float(torch.cat([(ranks < RANK).float().mean().view(1) for ranks in shares]).mean())

    def _first_sentences(self) -> list[tuple[Tensor, Tensor]]:
        """Numbers of the first sentences of two languages about the same pictures, for each pair of languages."""
        # [languages, pictures], -1 for none; of several sentences, the last one assigned stays.
        count = int(self.bank.langs.max(initial=0)) + 1
        first = np.full((count, int(self.groups.max(initial=0)) + 1), -1, np.int64)
        backwards = np.arange(len(self.groups))[::-1]
        first[self.bank.langs[backwards], self.groups[backwards]] = backwards
        pairs = []
        for one, other in combinations(first, 2):
            both = (one >= 0) & (other >= 0)
            if both.any():
                pairs.append((torch.from_numpy(one[both]), torch.from_numpy(other[both])))
        return pairs

    def _mean_vectors(self, words: nn.Module) -> Tensor:
        """Unit vectors [S, dim]."""
        was_training = words.training
        words.eval()
        # By language: parts with one layer per language process each in one piece.
        order = np.argsort(self.bank.langs, kind="stable")
        parts = []
        for rows in np.array_split(order, -(-len(order) // SENTENCES_AT_ONCE)):
            tokens: Tokens = words(self.bank.batch(rows))
            parts.append(F.normalize(mean_vector(tokens), dim=-1))
        words.train(was_training)
        return torch.cat(parts)[torch.from_numpy(np.argsort(order, kind="stable"))]


def mean_vector(tokens: Tokens) -> Tensor:
    """The mean of the valid vectors of each row, [B, L, D] -> float32 [B, D]."""
    weight = tokens.mask.unsqueeze(-1).to(tokens.values.dtype)
    return ((tokens.values * weight).sum(1) / weight.sum(1).clamp(min=1)).float()
