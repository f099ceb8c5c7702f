"""The contract between the training loop and a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from lingvis.evaluation.result import Report
from lingvis.training.loop.watch import Loss
from lingvis.types import Clock

Ints = NDArray[np.int64]


class Task(nn.Module, ABC):
    """Everything that is trained together; it turns a batch into a loss.

    model: the module to train. The loop keeps its weights whenever validation improves; other modules
    of the task, such as a learnt objective, are used in training only.
    """

    model: nn.Module

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
