"""Watches the loss without making the device wait at every step: finds non-finite values and collapse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lingvis.errors import UserError

# A loss this close to that of a blind model, for this many steps on end, is a collapse.
COLLAPSE_TOLERANCE = 0.002
COLLAPSE_STEPS = 200


@dataclass(frozen=True, slots=True)
class LossRecord:
    """The loss of one step."""

    step: int
    loss: float


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a step, on the device.

    total: what is minimised; matching: the part between pictures and sentences; blind: what that part would be
    if all scores were equal.
    """

    total: Tensor
    matching: Tensor
    blind: Tensor


class LossWatch:
    """Collects losses on the device; `flush` brings them to the host and raises when training has gone wrong."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, Tensor]] = []
        self._stuck = 0

    def add(self, step: int, loss: Loss, norm: Tensor) -> None:
        """Note a step's loss and the gradient's norm."""
        numbers = (loss.total, loss.matching, loss.blind, norm)
        self._pending.append((step, torch.stack([number.detach() for number in numbers])))

    def flush(self) -> list[LossRecord]:
        """The losses since the last flush."""
        if not self._pending:
            return []
        steps = [step for step, _ in self._pending]
        values = torch.stack([numbers for _, numbers in self._pending]).tolist()
        self._pending.clear()
        records = []
        for step, (loss, matching, blind, norm) in zip(steps, values, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                what = f"loss became {loss}" if not math.isfinite(loss) else f"gradient became {norm}"
                raise UserError(
                    f"the {what} at step {step}; a checkpoint from before it, if one was written, is kept. "
                    "Lower optimizer.lr, or set training.precision=float32, and train into a new --out."
                )
            near = abs(matching - blind) <= COLLAPSE_TOLERANCE * blind
            self._stuck = self._stuck + 1 if near else 0
            if self._stuck >= COLLAPSE_STEPS:
                raise UserError(
                    f"training has collapsed: the loss has stuck at {matching:.1f} for {self._stuck} steps up to step "
                    f"{step}, the value of a model that maps everything to one point. Start with easier negatives "
                    "(objective.schedule=warmup) or lower optimizer.lr, and train into a new --out."
                )
            records.append(LossRecord(step, loss))
        return records
