"""Context-aware attention: several heads weight each vector by its similarity to the mean of all."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.bounds import Count, Positive
from lingvis.pooling.base import POOLERS, Pooler
from lingvis.types import Tokens


@POOLERS.register(
    "attention", "weighted means by heads that compare each vector with the mean of all (A3VSE)"
)
class AttentionHeads(Pooler):
    """[batch, length, dim] -> [batch, heads * dim]: one weighted mean per head, concatenated.

    Huang et al. 2019, Eq. 1: the weight of vector i in head k is softmax over i of temperature * a_ik, with
    a_ik = tanh(P_k mean)^T tanh(Q_k v_i), the mean over the valid vectors, and P_k, Q_k linear maps [hidden, dim].
    The paper gives no value for the temperature, a constant per side. Vectors of regions are large: with 1 a trained
    head uses a single one; 0.05 is about 1 / sqrt(hidden). States of an LSTM are small: with 0.05 it is nearly a mean.
    """

    def __init__(
        self, *, dim: int, heads: Count = 3, hidden: Count = 512, temperature: Positive = 0.05
    ) -> None:
        super().__init__()
        self.heads, self.temperature = heads, temperature
        self.context = nn.Linear(dim, heads * hidden, bias=False)
        self.local = nn.Linear(dim, heads * hidden, bias=False)
        for layer in (self.context, self.local):
            nn.init.xavier_uniform_(layer.weight)

    def output_dim(self, input_dim: int) -> int:
        """The length of the concatenated heads."""
        return self.heads * input_dim

    def forward(self, tokens: Tokens) -> Tensor:
        values = self._valid(tokens)
        return (self.weights(tokens).to(values.dtype) @ values).flatten(1).to(tokens.values.dtype)

    def weights(self, tokens: Tokens) -> Tensor:
        """The weight of each vector in each head, [batch, heads, length]; 0 at masked positions."""
        values = self._valid(tokens)
        mean = values.sum(dim=1) / tokens.lengths.unsqueeze(1).to(values.dtype)
        context = torch.tanh(self.context(mean)).view(mean.shape[0], self.heads, -1)
        local = torch.tanh(self.local(values)).view(*tokens.mask.shape, self.heads, -1)
        scores = torch.einsum("bkh,blkh->bkl", context, local) * self.temperature
        return scores.masked_fill(~tokens.mask.unsqueeze(1), -torch.inf).softmax(dim=-1)

    def _valid(self, tokens: Tokens) -> Tensor:
        """The vectors in the number type of the layers, zero at masked positions, so that NaN there reaches no gradient."""
        return tokens.values.to(self.local.weight.dtype).masked_fill(~tokens.mask.unsqueeze(-1), 0.0)
