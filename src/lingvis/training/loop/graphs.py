"""CUDA graphs: the step of a small model is hundreds of short kernels that take longer to launch than to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor, nn

Tensors = tuple[Tensor, ...]
Encode = Callable[..., Tensors]

# A shape is captured the third time it occurs: a rare one (the last batch of an epoch) is not worth it.
CAPTURE_AT = 3
# Every recording takes memory; batches of further shapes run without one.
MOST_GRAPHS = 64


class GraphedCalls:
    """Calls of `encode` over a model's parameters, forward and backward, recorded once per shape and replayed.

    The recorded calls must not wait for the device or read its values on the host.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._seen: Counter[Hashable] = Counter()
        self._graphs: dict[Hashable, Any] = {}
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, shape: Hashable, encode: Encode, inputs: Tensors) -> Tensors:
        """Return `encode(*inputs)`; `shape` holds everything that a recording depends on."""
        # A recording has the gradients of the parameters that were trained when it was made.
        shape = (shape, tuple(parameter.requires_grad for parameter in self._model.parameters()))
        if shape not in self._graphs:
            self._seen[shape] += 1
            if self._seen[shape] < CAPTURE_AT or len(self._graphs) >= MOST_GRAPHS:
                return encode(*inputs)
            self._graphs[shape] = self._capture(encode, inputs)
        outputs: Tensors = self._graphs[shape](*inputs)
        return outputs

    def _capture(self, encode: Encode, inputs: Tensors) -> Any:
        """Record a call; its trial runs change neither running statistics nor the state of random numbers."""
        buffers = {name: buffer.clone() for name, buffer in self._model.named_buffers()}
        random = torch.cuda.get_rng_state()
        call = _Call(self._model, encode)
        # A batch without pictures leaves the parameters of the image side without a gradient.
        graphed = torch.cuda.make_graphed_callables(call, inputs, allow_unused_input=True, pool=self._pool)
        with torch.no_grad():
            for name, buffer in self._model.named_buffers():
                buffer.copy_(buffers[name])
        torch.cuda.set_rng_state(random)
        return graphed


class _Call(nn.Module):
    """A function as a module, so that torch finds the parameters it uses."""

    def __init__(self, model: nn.Module, function: Encode) -> None:
        super().__init__()
        self.model = model
        self._function = function

    def forward(self, *inputs: Tensor) -> Tensors:
        return self._function(*inputs)
