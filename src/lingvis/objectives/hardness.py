"""The weight of the hardest negative over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from lingvis.types import Clock

Hardness = Callable[[Clock], float]
HardnessName = Literal["all", "hardest", "warmup", "exponential", "linear"]


def hardness(name: HardnessName, *, warmup_epochs: int, base: float, ramp_steps: int) -> Hardness:
    """The weight k of the hardest negative; the sum over all negatives has weight 1 - k.

    all: 0. hardest: 1. warmup: 0 in the first `warmup_epochs` epochs, then 1 (VSE-infinity).
    exponential: 1 - base^step (LIWE; base 0.991). linear: rises to 1 over `ramp_steps` steps.
    """
    if name == "all":
        return lambda clock: 0.0
    if name == "hardest":
        return lambda clock: 1.0
    if name == "warmup":
        return lambda clock: float(clock.epoch >= warmup_epochs)
    if name == "exponential":
        return lambda clock: 1.0 - base**clock.step
    return lambda clock: min(1.0, clock.step / max(1, ramp_steps))
