"""The contract between the training loop and a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from lingvis.arrays import Ints
from lingvis.evaluation.result import Report
from lingvis.training.loop.watch import Loss
from lingvis.types import Clock


@dataclass(frozen=True, slots=True)
class RecordableLoss:
    """The loss of a batch as a function of tensors on the device, for CUDA graphs.

    shape: equal for batches and times for which the same operations are computed. inputs: the tensors of this batch;
    loss: a function of such tensors and of a clock, which never waits for the device or reads its values on the host.
    """

    shape: Hashable
    inputs: Sequence[Tensor]
    loss: Callable[[Sequence[Tensor], Clock], Loss]


class Task(nn.Module, ABC):
    """Everything that is trained together; it turns a batch into a loss.

    model: the module to train. The loop keeps its weights whenever validation improves; other modules
    of the task, such as a learnt objective, are used in training only. recorded: whether `recordable` works.
    """

    model: nn.Module

    @property
    def shared(self) -> bool:
        """Whether several processes train it together, each with its own part of a batch."""
        return False

    @property
    def recorded(self) -> bool:
        """Whether steps are recorded as CUDA graphs."""
        return False

    def recordable(self, rows: Ints, clock: Clock) -> RecordableLoss:
        """The loss of one batch in a form that can be recorded."""
        raise NotImplementedError(f"{type(self).__name__} is not recorded")

    @abstractmethod
    def loss(self, rows: Ints, clock: Clock) -> Loss:
        """The loss of one batch; rows: numbers of sentences, as a sampler returns them."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of one validation.

    score: the best epoch has the highest one. values: further numbers, for the log.
    """

    score: float
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_report(cls, report: Report) -> Validation:
        """The mean mR over the languages of an evaluation report; the log also gets rsum and mR per language."""
        scores = report.languages.values()
        mean = sum(score.mR for score in scores) / len(scores)
        rsum = sum(score.rsum for score in scores) / len(scores)
        per_language = {lang: score.mR for lang, score in report.languages.items()}
        return cls(mean, {"mR": mean, "rsum": rsum, "languages": per_language})
