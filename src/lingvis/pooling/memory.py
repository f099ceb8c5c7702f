"""Attention in several steps, each guided by a memory of the steps before."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.pooling.base import POOLERS, Pooler
from lingvis.types import Tokens


@POOLERS.register("memory", "attention in steps, each guided by a memory of the steps before (DAN)")
class MemoryAttention(Pooler):
    """[batch, length, dim] -> [batch, (1 + steps) * dim]: the mean, then one weighted mean per step, each of unit length.

    Nam et al. 2017 (m-DAN): in step k the weight of vector i is softmax over i of
    w_k^T (tanh(W_k v_i) * tanh(M_k memory)), with W_k, M_k [hidden, dim]; memory is the sum of the results before.
    project: each result, also the mean, passes tanh(P_k x + b_k), as pictures do in the paper and sentences do not.

    The paper's similarity is the sum over steps of the inner products of both sides. Here the result of each step has
    unit length, so that the cosine of two pooled vectors is the mean over steps of the cosines.
    """

    def __init__(self, *, dim: int, steps: Count = 2, hidden: Count = 512, project: bool = False) -> None:
        super().__init__()
        self.steps = steps
        self.local = _layers(steps, dim, hidden)
        self.context = _layers(steps, dim, hidden)
        self.score = _layers(steps, hidden, 1)
        self.projections = nn.ModuleList(nn.Linear(dim, dim) for _ in range(1 + steps)) if project else None

    def output_dim(self, input_dim: int) -> int:
        """The length of the concatenated results."""
        return (1 + self.steps) * input_dim

    def forward(self, tokens: Tokens) -> Tensor:
        # In the number type of the layers, zero at masked positions, so that NaN there reaches no gradient.
        values = tokens.values.to(next(self.parameters()).dtype).masked_fill(~tokens.mask.unsqueeze(-1), 0.0)
        memory = self._project(0, values.sum(dim=1) / tokens.lengths.unsqueeze(1).to(values.dtype))
        results = [memory]
        for step in range(self.steps):
            weights = self._weights(step, values, tokens.mask, memory).to(values.dtype)
            result = self._project(1 + step, (weights.unsqueeze(1) @ values).squeeze(1))
            memory = memory + result
            results.append(result)
        pooled = torch.cat([F.normalize(result, dim=-1) for result in results], dim=-1)
        return pooled.to(tokens.values.dtype)

    def _weights(self, step: int, values: Tensor, mask: Tensor, memory: Tensor) -> Tensor:
        """The weight of each vector in a step, [batch, length]; 0 at masked positions."""
        local = torch.tanh(self.local[step](values))
        context = torch.tanh(self.context[step](memory)).unsqueeze(1)
        scores: Tensor = self.score[step](local * context).squeeze(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    def _project(self, place: int, result: Tensor) -> Tensor:
        return result if self.projections is None else torch.tanh(self.projections[place](result))


def _layers(steps: int, input_dim: int, dim: int) -> nn.ModuleList:
    layers = [nn.Linear(input_dim, dim, bias=False) for _ in range(steps)]
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
    return nn.ModuleList(layers)
