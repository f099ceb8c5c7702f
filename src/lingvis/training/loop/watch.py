"""Detects non-finite losses and a collapse, without synchronising with the device at every step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lingvis.errors import UserError

# A loss this close to the blind value, for this many consecutive steps without a better validation, is a collapse.
COLLAPSE_TOLERANCE = 0.002
COLLAPSE_STEPS = 200


@dataclass(frozen=True, slots=True)
class LossRecord:
    """The loss of one step: the sum, and its weighted terms.

    matching: the watched term as a share of its blind value; None if nothing was watched in this step.
    """

    step: int
    loss: float
    terms: dict[str, float]
    matching: float | None


class Loss:
    """The loss of a step, on the device.

    parts: the weighted terms, of which `total` is the sum; watched: the name of the term that is watched for a
    collapse; matching: its value, unweighted; blind: its value for a model that maps everything to one point. Without
    a watched term both are not a number, and a collapse is not detected.
    """

    def __init__(
        self,
        parts: Mapping[str, Tensor],
        *,
        watched: str = "",
        matching: Tensor | None = None,
        blind: Tensor | None = None,
    ) -> None:
        self.parts = dict(parts)
        self.watched = watched
        unknown = torch.full_like(next(iter(self.parts.values())).detach(), torch.nan)
        self.matching = unknown if matching is None else matching
        self.blind = unknown if blind is None else blind
        first, *others = self.parts.values()
        self.total = first
        for part in others:
            self.total = self.total + part


@dataclass(frozen=True, slots=True)
class StepNumbers:
    """The numbers of a step on the device: loss, matching, blind, the gradient's norm, and the weighted terms.

    watched, terms: names. values float32 [4 + terms].
    """

    watched: str
    terms: tuple[str, ...]
    values: Tensor

    @classmethod
    def of(cls, loss: Loss, norm: Tensor) -> StepNumbers:
        """The numbers of a loss and the norm of its gradient."""
        numbers = (loss.total, loss.matching, loss.blind, norm, *loss.parts.values())
        return cls(loss.watched, tuple(loss.parts), torch.stack([number.detach() for number in numbers]))


class LossWatch:
    """Collects losses on the device; `flush` copies them to the host and raises when training has gone wrong."""

    def __init__(self) -> None:
        self._pending: list[tuple[int, StepNumbers]] = []
        self._stuck = 0

    def add(self, step: int, numbers: StepNumbers) -> None:
        """Keep a step's numbers."""
        self._pending.append((step, numbers))

    def improved(self) -> None:
        """A validation was the best so far: the model learns, however little the loss says of it."""
        self._stuck = 0

    def flush(self) -> list[LossRecord]:
        """The losses since the last flush."""
        if not self._pending:
            return []
        values = torch.stack([numbers.values for _, numbers in self._pending]).tolist()
        steps = [(step, numbers.watched, numbers.terms) for step, numbers in self._pending]
        self._pending.clear()
        records = []
        for (step, watched, names), (loss, matching, blind, norm, *terms) in zip(steps, values, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                what = f"loss became {loss}" if not math.isfinite(loss) else f"gradient became {norm}"
                raise UserError(
                    f"the {what} at step {step}; a checkpoint from before it, if one was written, is kept. "
                    "Lower optimizer.lr, or set training.precision=float32, and train into a new folder."
                )
            near = abs(matching - blind) <= COLLAPSE_TOLERANCE * blind
            self._stuck = self._stuck + 1 if near else 0
            if self._stuck >= COLLAPSE_STEPS:
                raise UserError(
                    f"training has collapsed: term {watched} has stuck at {matching:.1f} for {self._stuck} steps up "
                    f"to step {step}, the value of a model that maps everything to one point. Start with easier negatives "
                    f"(terms.{watched}.objective.schedule=warmup) or lower optimizer.lr, and train into a new folder."
                )
            share = matching / blind if blind > 0 else None
            records.append(LossRecord(step, loss, dict(zip(names, terms, strict=True)), share))
        return records


def mean_loss(records: Sequence[LossRecord]) -> dict[str, Any]:
    """Mean loss of some steps, and the mean of each term."""
    count = len(records)
    terms = {name: sum(record.terms[name] for record in records) / count for name in records[0].terms}
    return {"loss": sum(record.loss for record in records) / count, "terms": terms}
