"""A moving average of the weights: what is measured and kept when a recipe asks for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class WeightAverage:
    """average <- decay x average + (1 - decay) x weights after every step; running statistics likewise.

    The decay rises with the steps at the start, (1 + step) / (10 + step), so that the first weights are soon
    forgotten. With decay 0 the average is the model itself.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        # These share their memory with the model's weights, which optimisers and loading change in place.
        self._now = {name: value for name, value in model.state_dict().items() if value.is_floating_point()}
        self.state: dict[str, Tensor] = {}
        if decay > 0:
            self.state = {name: value.clone() for name, value in self._now.items()}

    def update(self, step: int) -> None:
        """Take in the weights after `step` steps."""
        if not self.state:
            return
        decay = min(self._decay, (1 + step) / (10 + step))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.state.values()), list(self._now.values()), 1 - decay)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the model has the averaged weights."""
        if not self.state:
            yield
            return
        kept = {name: value.clone() for name, value in self._now.items()}
        self._copy(self.state)
        try:
            yield
        finally:
            self._copy(kept)

    def _copy(self, state: dict[str, Tensor]) -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(self._now.values()), list(state.values()))
