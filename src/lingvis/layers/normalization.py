"""Batch normalisation over padded sets of vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.processes.exchange import added_up


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm of [..., D] whose statistics come from the valid vectors of mask [...] only.

    It uses weighted sums instead of indexing by the mask, so that a GPU never waits for the number of valid vectors.
    Sums have the number type of the running statistics: float32 also for values in bfloat16. Of several processes, each
    has the vectors of its part of a batch, and the sums are those of the whole batch; whole: each has all vectors.
    """

    def __init__(self, dim: int, *, whole: bool = False) -> None:
        super().__init__(dim)
        self._sum = _sum if whole else _sum_of_all

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        assert self.running_mean is not None and self.running_var is not None
        if self.training:
            exact = values.to(self.running_mean.dtype)
            valid = mask.unsqueeze(-1).to(exact.dtype)
            count = self._sum(valid).clamp(min=1)
            mean = self._sum(exact * valid) / count
            var = self._sum((exact - mean).square() * valid) / count
            with torch.no_grad():
                momentum = self.momentum if self.momentum is not None else 0.1
                self.running_mean.lerp_(mean, momentum)
                self.running_var.lerp_(var * count / (count - 1).clamp(min=1), momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight * torch.rsqrt(var + self.eps)
        return values * scale + (self.bias - mean * scale)


def _sum(values: Tensor) -> Tensor:
    """[..., D] -> [D]."""
    return values.flatten(0, -2).sum(0)


def _sum_of_all(values: Tensor) -> Tensor:
    """The same over all processes."""
    return added_up(_sum(values))
