"""The generalized pooling operator (GPO) of VSE-infinity and its variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lingvis.bounds import Count, Positive
from lingvis.errors import UserError
from lingvis.layers.tracing import is_recorded
from lingvis.pooling.base import POOLERS, Pooler
from lingvis.pooling.coefficients import Coefficients
from lingvis.pooling.fused import fuses, weigh_sorted
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens

# At inference the weights of all sizes up to this one are computed once and kept.
KEPT_SIZE = 256
# Start of a leaning generator: the largest value of a set weighs e^LEAN times as much as the smallest.
LEAN = 1.5
LEAN_SIZE = 64
RIDGE = 1e-4


@POOLERS.register("gpo", "generalized pooling: learned weights on the sorted values of each dimension")
class GPO(Pooler):
    """Sort each dimension in descending order, then weight the k-th largest by a learned theta_k(n).

    [batch, length, dim] -> [batch, dim]. Chen et al., "Learning the Best Pooling Strategy for Visual Semantic
    Embedding": pooled_d = sum_k theta_k max_k(x_d), theta = softmax(g(k, n) / temperature). `position`,
    `decoder`, `per_dimension` and `feature_conditioned` are the variants of its supplement (the last two need
    `dim`); the defaults are from the paper. `start`: the initial weights, which the paper does not define: leaning to
    the larger values, as the mean, or random; they are always random when conditioned on features. The weights depend
    on the size n of the set alone, so they are computed once per size, not per set, except when conditioned on
    features.
    """

    def __init__(
        self,
        *,
        position: Literal["sincos", "index"] = "sincos",
        decoder: Literal["bigru", "transformer", "mlp", "interpolate"] = "bigru",
        code_dim: Count = 32,
        hidden: Count = 32,
        temperature: Positive = 0.1,
        max_size: Count = 128,
        knots: Count = 20,
        start: Literal["lean", "mean", "random"] = "lean",
        per_dimension: bool = False,
        feature_conditioned: bool = False,
        dim: int | None = None,
    ) -> None:
        super().__init__()
        if dim is None and (per_dimension or feature_conditioned):
            raise UserError("GPO per dimension or conditioned on features needs 'dim', the vectors' size")
        self.per_dimension, self.feature_conditioned = per_dimension, feature_conditioned
        self.coefficients = Coefficients(
            position=position,
            decoder=decoder,
            code_dim=code_dim,
            hidden=hidden,
            temperature=temperature,
            max_size=max_size,
            knots=knots,
            outputs=dim if per_dimension and dim else 1,
            feature_dim=dim if feature_conditioned and dim else 0,
        )
        if start != "random" and decoder != "interpolate" and not feature_conditioned:
            lean_to_larger(self.coefficients, LEAN if start == "lean" else 0.0)
        self._kept: dict[int, Tensor] = {}
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def forward(self, tokens: Tokens) -> Tensor:
        if fuses(tokens) and not (self.per_dimension or self.feature_conditioned):
            return weigh_sorted(tokens, self.weights(tokens.lengths, tokens.mask.shape[1]).squeeze(1))
        ordered = sort_features(tokens)
        if self.feature_conditioned:
            weights = self._coefficients(tokens.lengths, ordered.shape[-1], ordered.transpose(1, 2))
        else:
            weights = self.weights(tokens.lengths, ordered.shape[-1])
        with torch.autocast(ordered.device.type, enabled=False):
            return weigh(ordered, weights)

    def weights(self, lengths: Tensor, size: int) -> Tensor:
        """The weights of each set by its size, [batch, 1 or dim, size]. lengths: [batch]; size: the largest possible one."""
        if is_recorded():
            return self._coefficients(lengths, size)
        if self._keeps(size):
            if size not in self._kept:
                self._kept[size] = self._table(lengths, size)
            return self._kept[size][lengths - 1]
        self._kept.clear()  # with gradients on, a step may follow even in evaluation mode
        if size <= len(lengths):
            return self._table(lengths, size)[lengths - 1]
        return self._coefficients(lengths, size)

    @torch.no_grad()
    def curve(self, size: int) -> Tensor:
        """The weights of a set of `size` values, from the largest value to the smallest, [size].

        Weights per dimension are averaged. Weights that are conditioned on features have no curve.
        """
        if self.feature_conditioned:
            raise ValueError("weights that are conditioned on features differ between sets of one size")
        lengths = torch.tensor([size], device=next(self.parameters()).device)
        return self._coefficients(lengths, size)[0].mean(dim=0)

    def _coefficients(self, lengths: Tensor, size: int, features: Tensor | None = None) -> Tensor:
        weights: Tensor = self.coefficients(lengths, size, features)
        return weights

    def _keeps(self, size: int) -> bool:
        """Whether to keep the table of this size; tables per dimension would take too much memory."""
        inference = not self.training and not torch.is_grad_enabled()
        return inference and size <= KEPT_SIZE and not self.per_dimension

    def _table(self, lengths: Tensor, size: int) -> Tensor:
        """Weights of every size from 1 to `size`, [size, outputs, size]."""
        return self._coefficients(torch.arange(1, size + 1, device=lengths.device), size)

    def train(self, mode: bool = True) -> GPO:
        """Switch the mode; weights kept for inference are dropped."""
        self._kept.clear()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> GPO:
        # Every move to another device or number type ends here.
        self._kept.clear()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self


@torch.no_grad()
def lean_to_larger(coefficients: Coefficients, lean: float) -> None:
    """Start a generator as a mean that leans to the larger values: theta_k(n) ~ exp(-lean k / (n - 1)).

    The paper does not define the start of its last layer. Random weights may start on the smallest values, and runs
    then differ more between seeds; docs/studies/experiments.md has the (small) evidence. Here ridge regression fits the last
    layer to these scores, over sizes up to LEAN_SIZE.
    """
    last = coefficients.decoder.score
    assert isinstance(last, nn.Linear)
    assert coefficients.code is not None
    lengths = torch.arange(2, LEAN_SIZE + 1)
    position = torch.arange(LEAN_SIZE)
    mask = position < lengths.unsqueeze(1)
    seen: list[Tensor] = []
    hook = last.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    coefficients(lengths, LEAN_SIZE)
    hook.remove()
    share = position / (lengths.unsqueeze(1) - 1)
    target = coefficients.temperature * lean * (0.5 - share)[mask].double()
    hidden = seen[0][mask].double()
    hidden = hidden - hidden.mean(dim=0)  # a constant in the scores changes no weight
    ridge = RIDGE * len(hidden) * torch.eye(hidden.shape[1], dtype=torch.float64)
    solution = torch.linalg.solve(hidden.T @ hidden + ridge, hidden.T @ target)
    last.weight.copy_(solution.expand_as(last.weight))


def weigh(ordered: Tensor, weights: Tensor) -> Tensor:
    """ordered [batch, dim, size], weights [batch, 1 or dim, size] -> [batch, dim]; sums have the wider type."""
    wide = torch.promote_types(ordered.dtype, weights.dtype)
    if weights.shape[1] == 1:
        pooled = torch.bmm(ordered.to(wide), weights.to(wide).transpose(1, 2)).squeeze(-1)
    else:
        pooled = (ordered * weights).sum(dim=-1)
    return pooled.to(ordered.dtype)


def _forget(module: nn.Module, incompatible: Any) -> None:
    """Drop the kept results after new weights were loaded."""
    assert isinstance(module, GPO)
    module._kept.clear()
