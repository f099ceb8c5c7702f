"""The latent vocabulary of SMALR: a few shared tokens represent the many words of all languages."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lingvis.arrays import Floats
from lingvis.bounds import Count, Share
from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.space import SCALE, fill_empty
from lingvis.types import TextBatch, Tokens

MOST_SCORES = 1 << 26  # scores of words against latent tokens in memory at a time: 256 MiB
TEMPERATURE = 0.1  # of the softmax over cosines


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """A latent vocabulary.

    token_of: the latent token of each word, int64 [vocabulary.size]; vectors: of the tokens [latent, dim].
    """

    token_of: Tensor
    vectors: Tensor

    def used(self, special: int) -> int:
        """Number of tokens with at least one word; the first `special` ids are not words."""
        return len(torch.unique(self.token_of[special:]))


class LatentAttention(nn.Module):
    """ids [B, L] -> vectors of latent tokens [B, L, dim] by hard attention (Burns et al. 2020, section 3.1).

    A linear layer scores the latent tokens from a word's pretrained vector, and the best token represents
    the word. In training, with probability `explore`, it is any of the `among` best, drawn once per batch for each
    distinct word. Hard choices have no gradient, so the layer uses a straight-through estimate: forward the chosen
    token, backward a mixture of the `among` best weighted by the softmax of their scores. Tokens learn only
    where they are chosen. Special tokens are not words: the mask leaves them out.

    Not specified in the paper: scores are cosines, and a row of the layer has the square root of its
    size as its initial length, so that a step of Adam turns it by about `lr` radians. A plain layer collapses: rows
    that win words grow, turn and win more, until only 2 % of the tokens are used.

    vectors: float32 [vocabulary.size, any], not trained; words with a vector of zeros get a random one. Tokens start
    random; `start_tokens` starts them from the vectors of their words.
    """

    vectors: Tensor

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        vectors: Floats,
        latent: Count = 40_000,
        dim: Count = 512,
        explore: Share = 0.2,
        among: Count = 20,
    ) -> None:
        super().__init__()
        if among > latent:
            raise UserError(f"among = {among} of latent = {latent} tokens; give an among of at most {latent}")
        self.dim = dim
        self.explore = explore
        self.among = among
        self.special = len(vocabulary.special)
        self.register_buffer("vectors", F.normalize(fill_empty(torch.from_numpy(vectors)), dim=1))
        self.rows = nn.Parameter(torch.randn(latent, vectors.shape[1]))
        self.tokens = nn.Parameter(SCALE * torch.randn(latent, dim))

    def forward(self, batch: TextBatch) -> Tokens:
        ids, places = torch.unique(batch.ids, return_inverse=True)
        best = self._best(ids, self.among if self.training else 1)
        values = self._choose(ids, best) if self.training else F.embedding(best[:, 0], self.tokens)
        mask = batch.mask & (batch.ids >= self.special)
        return batch.tokens(F.embedding(places, values), mask)

    @torch.no_grad()
    def start_tokens(self) -> None:
        """Start every token as the mean of its words' vectors, rotated into the tokens' space; without words, as its row.

        So sentences have the geometry of the given vectors from the first step on: if these lie in one space for all
        languages, translations are near each other before anything is learnt.
        """
        words = torch.arange(self.special, len(self.vectors), device=self.vectors.device)
        token_of = self._best(words, 1)[:, 0]
        means = torch.zeros_like(self.rows).index_add_(0, token_of, self.vectors[words])
        used = torch.zeros(len(means), dtype=torch.bool, device=means.device)
        used[token_of] = True
        means = F.normalize(torch.where(used.unsqueeze(1), means, self.rows), dim=1)
        rotation = nn.init.orthogonal_(means.new_empty(means.shape[1], self.dim))
        # Unit vectors have components of dim ** -0.5 on average.
        self.tokens.copy_(SCALE * self.dim**0.5 * F.normalize(means @ rotation, dim=1))

    def assignment(self) -> Assignment:
        """The best token of every word, and the tokens' vectors."""
        every = torch.arange(len(self.vectors), device=self.vectors.device)
        return Assignment(self._best(every, 1)[:, 0], self.tokens.detach().clone())

    def _choose(self, ids: Tensor, best: Tensor) -> Tensor:
        """Word ids [words], their best tokens [words, among] -> vectors [words, dim]."""
        column = torch.randint(self.among, (len(ids), 1), device=ids.device)
        exploring = torch.rand(len(ids), 1, device=ids.device) < self.explore
        chosen = best.gather(1, torch.where(exploring, column, 0)).squeeze(1)
        rows = F.normalize(F.embedding(best, self.rows), dim=-1)
        weights = torch.einsum("wd,wmd->wm", self.vectors[ids], rows).div(TEMPERATURE).softmax(dim=1)
        mixture = torch.einsum("wm,wmd->wd", weights, F.embedding(best, self.tokens.detach()))
        return F.embedding(chosen, self.tokens) + (mixture - mixture.detach())

    @torch.no_grad()
    def _best(self, ids: Tensor, count: int) -> Tensor:
        """The `count` best tokens of words, best first, int64 [words, count]."""
        rows = F.normalize(self.rows, dim=1)
        words = torch.split(ids, max(1, MOST_SCORES // len(rows)))
        return torch.cat([(self.vectors[some] @ rows.T).topk(count).indices for some in words])
