"""A convolution over neighbours in padded sequences, with a residual link."""

from __future__ import annotations

from torch import Tensor, nn

from lingvis.layers.normalization import MaskedBatchNorm

WIDTH = 3  # a vector and its two neighbours


class ResidualBlock(nn.Module):
    """ReLU(values + three layers): [batch, length, dim], mask bool [batch, length] -> [batch, length, dim].

    The layers are those of a residual network's bottleneck (He et al. 2016): to `hidden` values, a convolution over a
    vector and its neighbours, back to `dim`; batch norm after each, ReLU between. A neighbour outside the valid vectors
    counts as zero, so that padding has no influence.
    """

    def __init__(self, *, dim: int, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Linear(dim, hidden, bias=False)
        self.wide = nn.Conv1d(hidden, hidden, WIDTH, padding=WIDTH // 2, bias=False)
        self.outer = nn.Linear(hidden, dim, bias=False)
        self.norms = nn.ModuleList(MaskedBatchNorm(size) for size in (hidden, hidden, dim))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """One block."""
        first, second, third = self.norms
        hidden = first(self.inner(values), mask).relu().masked_fill(~mask.unsqueeze(-1), 0.0)
        hidden = second(self.wide(hidden.transpose(1, 2)).transpose(1, 2), mask).relu()
        added: Tensor = third(self.outer(hidden), mask)
        return (values + added).relu()
