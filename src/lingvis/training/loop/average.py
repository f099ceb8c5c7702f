"""The moving average of a model's weights, which is often better than the weights of any one step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class WeightAverage:
    """average = decay * average + (1 - decay) * weights, once per step.

    Early steps count more: the decay of step n is at most (1 + n) / (10 + n). Buffers that are not floating-point
    numbers, such as counters, are copied.
    """

    def __init__(self, model: nn.Module, decay: float, values: dict[str, Tensor]) -> None:
        self._model, self._decay = model, decay
        self.values = values  # shared with the state of the training, and empty before its first step

    def update(self, step: int) -> None:
        """Take the weights after a step into the average."""
        weights = self._model.state_dict()
        if not self.values:
            self.values |= {name: value.detach().clone() for name, value in weights.items()}
        share = 1 - min(self._decay, (1 + step) / (10 + step))
        for name, value in self.values.items():
            if not value.is_floating_point():
                value.copy_(weights[name])
        mixed = [name for name, value in self.values.items() if value.is_floating_point()]
        torch._foreach_lerp_([self.values[name] for name in mixed], [weights[name] for name in mixed], share)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the average in this block, and its own weights again after it."""
        own = {name: value.detach().clone() for name, value in self._model.state_dict().items()}
        self._model.load_state_dict(self.values)
        try:
            yield
        finally:
            self._model.load_state_dict(own)
