"""A bound on the memory that a model may take while it is built, so that a few digits in a file cannot fill it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

# Initial values and tables that are computed again, besides the stored weights: a share and 256 MB.
SHARE, FLOOR = 4, 1 << 26
# Functions whose first arguments are the size of a new tensor.
BY_SIZE: tuple[Callable[..., Any], ...] = (
    torch.empty,
    torch.full,
    torch.ones,
    torch.rand,
    torch.randn,
    torch.zeros,
)


class AllocationLimit(TorchFunctionMode):
    """Context in which new tensors may have as many values as the given weights need, in this thread.

    Raises ValueError before the memory is used.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._left = SHARE * sum(tensor.numel() for tensor in weights.values()) + FLOOR

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        arguments: tuple[Any, ...] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run a function of torch."""
        options = options or {}
        if function in BY_SIZE:
            self._spend(math.prod(_size(options.get("size", arguments))))
        elif function in (torch.eye, torch.arange):
            # The side of a matrix, or the end of the numbers.
            side = max((value for value in arguments if isinstance(value, int)), default=0)
            self._spend(side**2 if function is torch.eye else side)
        return function(*arguments, **options)

    def _spend(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise ValueError("it describes a model that is much larger than the stored weights")


def _size(arguments: Any) -> list[int]:
    """The size of a tensor, given as one list or as several numbers."""
    if arguments and isinstance(arguments[0], list | tuple):
        arguments = arguments[0]
    return [value for value in arguments if isinstance(value, int)]
