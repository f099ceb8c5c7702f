"""Imitation: sentences get the embeddings that a teacher gives to sentences with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from lingvis.objectives.base import Objective
from lingvis.terms.base import AUTHORED, TERMS, Step, Term


@TERMS.register("teacher_distance", "each sentence comes near the teacher's embedding of its meaning")
class TeacherDistance(Term):
    """Mean of 1 - cos(sentence, target) over the sentences that have a target; 0 if none has.

    Half of the squared distance of unit vectors: the mean squared error of Reimers and Gurevych 2020, Eq. 1, and of
    Carlsson et al. 2022, Sec. 3, for embeddings that are compared by their cosine.
    """

    imitates: ClassVar[bool] = True

    def forward(self, step: Step) -> Tensor:
        step = step.of(*AUTHORED)
        targets = _targets(step)
        cosine = (step.text_emb * targets).sum(dim=1)
        counted = targets.any(dim=1)
        return torch.where(counted, 1 - cosine, 0.0).sum() / counted.sum().clamp(min=1)


@TERMS.register(
    "teacher_matching", "an objective between sentences and the teacher's embeddings of the batch"
)
class TeacherMatching(Term):
    """objective(cosine of every target with every sentence); positives are the sentences and targets of one meaning.

    A sentence without a target takes no part. Unlike the distance alone, it keeps sentences of different meanings apart
    where the teacher's embeddings are all close to each other.
    """

    imitates: ClassVar[bool] = True

    def __init__(self, *, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, step: Step) -> Tensor:
        step = step.of(*AUTHORED)
        targets = _targets(step)
        return self._value(targets @ step.text_emb.T, targets, step)

    @classmethod
    def watched(cls, options: Mapping[str, Any]) -> bool:
        """Always."""
        return True

    @torch.no_grad()
    def blind(self, step: Step) -> Tensor | None:
        """The value for equal scores."""
        step = step.of(*AUTHORED)
        targets = _targets(step)
        return self._value(targets.new_zeros(len(targets), len(targets)), targets, step)

    def _value(self, scores: Tensor, targets: Tensor, step: Step) -> Tensor:
        counted = targets.any(dim=1)
        # One target per meaning would do; a sentence of the teacher's language has its own, and all of them count.
        compared = counted.unsqueeze(1) & counted
        positives = (step.groups.unsqueeze(1) == step.groups) & compared
        loss: Tensor = self.objective(scores.masked_fill(~compared, -torch.inf), positives, step.clock)
        return loss


def _targets(step: Step) -> Tensor:
    if step.targets is None:
        raise ValueError("the step has no targets: the recipe has no teacher")
    return step.targets
