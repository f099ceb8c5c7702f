"""Gradient reversal: layers before an adversary learn the opposite."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lingvis.types import Clock


def reverse_gradient(values: Tensor, strength: float | Tensor) -> Tensor:
    """Return the values unchanged; multiply their gradient by -`strength` (Ganin and Lempitsky 2015)."""
    reversed_: Tensor = _ReverseGradient.apply(values, strength)  # type: ignore[no-untyped-call]
    return reversed_


def ramp(clock: Clock, total_steps: int, eta: float) -> float:
    """2 / (1 + exp(-eta p)) - 1 with p = step / total_steps: rises from 0 to nearly 1."""
    return 2 / (1 + math.exp(-eta * min(1.0, clock.step / total_steps))) - 1


class _ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, strength: float | Tensor) -> Tensor:
        ctx.strength = strength
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * grad, None
