"""Poolers without parameters; masked positions have no influence."""

from __future__ import annotations

import torch
from torch import Tensor

from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.pooling.base import POOLERS, Pooler
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens


@POOLERS.register("mean", "the mean of the vectors")
class Mean(Pooler):
    """Mean over the valid vectors, [batch, length, dim] -> [batch, dim]."""

    def forward(self, tokens: Tokens) -> Tensor:
        total = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), 0.0).sum(dim=1)
        return total / tokens.lengths.unsqueeze(1).to(total.dtype)


@POOLERS.register("max", "the largest value of each dimension")
class Max(Pooler):
    """Maximum of each dimension over the valid vectors, [batch, length, dim] -> [batch, dim]."""

    def forward(self, tokens: Tokens) -> Tensor:
        lowest = torch.finfo(tokens.values.dtype).min
        return tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), lowest).amax(dim=1)


@POOLERS.register("kmax", "the mean of the k largest values of each dimension")
class KMax(Pooler):
    """Mean of the `k` largest valid values of each dimension, or of all if fewer are valid.

    [batch, length, dim] -> [batch, dim].
    """

    def __init__(self, *, k: Count = 5) -> None:
        super().__init__()
        if k < 1:
            raise UserError(f"k-max pooling needs k of at least 1, got {k}")
        self.k = k

    def forward(self, tokens: Tokens) -> Tensor:
        total = sort_features(tokens)[..., : self.k].sum(dim=-1)
        return total / tokens.lengths.clamp(max=self.k).unsqueeze(1).to(total.dtype)


@POOLERS.register("first", "the first vector, for encoders with a leading summary token")
class First(Pooler):
    """The first valid vector by position, [batch, length, dim] -> [batch, dim]."""

    def forward(self, tokens: Tokens) -> Tensor:
        return _take(tokens.values, tokens.mask.int().argmax(dim=1))


@POOLERS.register("last", "the last vector, for one-directional recurrent encoders")
class Last(Pooler):
    """The last valid vector by position; the mask may have gaps.

    [batch, length, dim] -> [batch, dim].
    """

    def forward(self, tokens: Tokens) -> Tensor:
        length = tokens.mask.shape[1]
        return _take(tokens.values, length - 1 - tokens.mask.int().flip(1).argmax(dim=1))


def _take(values: Tensor, position: Tensor) -> Tensor:
    """values [batch, length, dim] at position [batch] -> [batch, dim]."""
    index = position.view(-1, 1, 1).expand(-1, 1, values.shape[2])
    return values.gather(1, index).squeeze(1)
