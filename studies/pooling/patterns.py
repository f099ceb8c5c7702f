"""The pooling patterns of the study, and the set sizes for training and test."""

from __future__ import annotations

import torch
from torch import Tensor

PATTERNS = ("A", "M-1", "M-10", "T-50%", "L")
GROUPS = {"seen": (20, 100), "smaller": (10, 19), "larger": (101, 120)}
LARGEST = 120
SHOWN = 15  # the figure draws the weights of sets of this size, smaller than in training


def true_coefficients(pattern: str, size: int) -> list[float]:
    """The weights that a pattern gives to the sorted values of a set; they sum to one.

    A: equal. M-K: equal on the K largest. T-K%: equal on the largest K percent, rounded down, at least one.
    L: falling linearly to zero at the smallest value.
    """
    if pattern == "L":
        ramp = list(range(size - 1, -1, -1)) if size > 1 else [1]
        return [step / sum(ramp) for step in ramp]
    if pattern == "A":
        taken = size
    elif pattern.startswith("M-"):
        taken = min(int(pattern[2:]), size)
    else:
        taken = max(1, size * int(pattern[2:-1]) // 100)
    return [1 / taken] * taken + [0.0] * (size - taken)


def true_table(pattern: str, largest: int = LARGEST) -> Tensor:
    """The weights of every size from 1 to `largest`, zeros past each, [largest, largest]."""
    rows = [true_coefficients(pattern, size) for size in range(1, largest + 1)]
    return torch.tensor([row + [0.0] * (largest - len(row)) for row in rows])
