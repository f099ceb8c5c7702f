"""Batch normalisation over padded sets of vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm of [..., D] whose statistics come from the valid vectors of mask [...] only.

    It uses weighted sums instead of indexing by the mask, so that a GPU never waits for the number of valid vectors.
    Sums have the number type of the running statistics: float32 also for values in bfloat16.
    """

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        assert self.running_mean is not None and self.running_var is not None
        if self.training:
            exact = values.to(self.running_mean.dtype)
            valid = mask.unsqueeze(-1).to(exact.dtype)
            count = valid.sum().clamp(min=1)
            mean = (exact * valid).flatten(0, -2).sum(0) / count
            var = ((exact - mean).square() * valid).flatten(0, -2).sum(0) / count
            with torch.no_grad():
                momentum = self.momentum if self.momentum is not None else 0.1
                self.running_mean.lerp_(mean, momentum)
                self.running_var.lerp_(var * count / (count - 1).clamp(min=1), momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight * torch.rsqrt(var + self.eps)
        return values * scale + (self.bias - mean * scale)
