"""Feature vectors -> vectors of the joint space, one by one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.config import Count
from lingvis.projection import Linear
from lingvis.registry import Registry
from lingvis.types import Tokens

IMAGE_ENCODERS: Registry[type[nn.Module]] = Registry("image encoder")
IMAGE_ENCODERS.register("linear", "one linear layer (VSE++, VSE-infinity on grids)")(Linear)


@IMAGE_ENCODERS.register(
    "residual_mlp", "linear layer plus a two-layer MLP with batch norm (VSE-infinity on regions)"
)
class ResidualMLP(nn.Module):
    """Linear(D, dim) + MLP(D -> hidden -> BN -> ReLU -> dim), added.

    [B, L, input_dim] -> [B, L, dim]. Chen et al. 2021, supplementary 1.1: "a two-layer MLP with residual
    link". Batch statistics are taken over valid vectors only: dropped and padded ones do not enter.
    """

    def __init__(self, *, input_dim: Count, dim: Count, hidden: Count) -> None:
        super().__init__()
        self.dim = dim
        self.linear = Linear(input_dim=input_dim, dim=dim)
        self.inner = nn.Linear(input_dim, hidden)
        self.norm = MaskedBatchNorm(hidden)
        self.outer = nn.Linear(hidden, dim)

    def forward(self, tokens: Tokens) -> Tokens:
        hidden = self.norm(self.inner(tokens.values), tokens.mask).relu()
        return Tokens(self.linear(tokens).values + self.outer(hidden), tokens.mask)


class MaskedBatchNorm(nn.BatchNorm1d):
    """Batch norm of [B, L, D] whose statistics come from the valid vectors of mask [B, L] only.

    Weighted sums instead of indexing by the mask, so that a GPU never waits for the number of valid vectors.
    """

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        assert self.running_mean is not None and self.running_var is not None
        if self.training:
            valid = mask.unsqueeze(-1).to(torch.float32)
            count = valid.sum().clamp(min=1)
            mean = (values.float() * valid).sum((0, 1)) / count
            var = ((values.float() - mean).square() * valid).sum((0, 1)) / count
            with torch.no_grad():
                momentum = self.momentum if self.momentum is not None else 0.1
                self.running_mean.lerp_(mean, momentum)
                self.running_var.lerp_(var * count / (count - 1).clamp(min=1), momentum)
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight * torch.rsqrt(var + self.eps)
        return values * scale + (self.bias - mean * scale)
