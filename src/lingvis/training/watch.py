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


class LossWatch:
    """Collects losses on the device; `flush` brings them to the host and raises when training has gone wrong."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, Tensor, Tensor]] = []
        self._stuck = 0

    def add(self, step: int, loss: Tensor, blind: Tensor) -> None:
        """Note a step's loss and the loss that equal scores everywhere would have."""
        self._pending.append((step, loss.detach(), blind))

    def flush(self) -> list[LossRecord]:
        """The losses since the last flush."""
        if not self._pending:
            return []
        values = (
            torch.stack([torch.stack((loss, blind)) for _, loss, blind in self._pending]).float().tolist()
        )
        records = []
        for (step, _, _), (loss, blind) in zip(self._pending, values, strict=True):
            if not math.isfinite(loss):
                self._pending.clear()
                raise UserError(
                    f"the loss became {loss} at step {step}; the last checkpoint from before it is kept. "
                    "Lower optimizer.lr, or set training.precision=float32, and train again."
                )
            near = abs(loss - blind) <= COLLAPSE_TOLERANCE * blind
            self._stuck = self._stuck + 1 if near else 0
            if self._stuck >= COLLAPSE_STEPS:
                self._pending.clear()
                raise UserError(
                    f"training has collapsed: the loss has stuck at {loss:.1f} for {self._stuck} steps up to step {step}, "
                    "the value of a model that maps everything to one point. Start with easier negatives "
                    "(objective.schedule=warmup) or lower optimizer.lr, and train again."
                )
            records.append(LossRecord(step, loss))
        self._pending.clear()
        return records
