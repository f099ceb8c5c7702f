"""Hinge ranking losses over a score matrix and its positives."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from lingvis.bounds import Count, Epoch, Positive, Share
from lingvis.objectives.base import BEGINNING, OBJECTIVES, Objective
from lingvis.objectives.hardness import HardnessName, hardness
from lingvis.objectives.hinges import hinge_sums
from lingvis.types import Clock

NEGLIGIBLE = 1e-7


@OBJECTIVES.register("ranking", "hinge ranking loss: all negatives, the hardest, or a scheduled mixture")
class Ranking(Objective):
    """Sum over positive pairs (i, t) and both directions of [margin + s(negative) - s(i, t)]+.

    scores [..., I, T], positives bool [..., I, T] -> [...]. The negatives of a pair are the non-positive entries of
    its row and of its column: either all of them (summed), the hardest one (Faghri et al. 2018, Eq. 6), or
    (1 - k) x all + k x hardest with k from `schedule` (Wehrmann et al. 2019; see hardness.py).
    Also known as triplet loss, sum of hinges (all) and max of hinges or VSE++ loss (hardest).
    """

    def __init__(
        self,
        *,
        margin: Positive,
        schedule: HardnessName,
        warmup_epochs: Epoch = 1,
        base: Share = 0.991,
        ramp_steps: Count = 500,
    ) -> None:
        super().__init__()
        self.margin = margin
        self.hardness = hardness(schedule, warmup_epochs=warmup_epochs, base=base, ramp_steps=ramp_steps)

    def easiness(self, clock: Clock) -> float:
        """1 - k."""
        return 1 - self.hardness(clock)

    def phase(self, clock: Clock) -> Literal["all", "both", "hardest"]:
        """The negatives that count now; a weight below the precision of a loss does not."""
        k = self.hardness(clock)
        return "all" if k == 0 else "hardest" if 1 - k < NEGLIGIBLE else "both"

    def forward(self, scores: Tensor, positives: Tensor, clock: Clock = BEGINNING) -> Tensor:
        phase = self.phase(clock)
        if phase == "all":
            return hinge_all(scores, positives, self.margin)
        if phase == "hardest":
            return hinge_hardest(scores, positives, self.margin)
        easy = clock.value(self.easiness) * hinge_all(scores, positives, self.margin)
        return easy + clock.value(self.hardness) * hinge_hardest(scores, positives, self.margin)


def hinge_hardest(scores: Tensor, positives: Tensor, margin: float) -> Tensor:
    """Only the highest-scoring negative of each positive pair's row and column counts."""
    negatives = scores.masked_fill(positives, -torch.inf)
    in_row = (margin + negatives.amax(dim=-1, keepdim=True) - scores).clamp(min=0)
    in_column = (margin + negatives.amax(dim=-2, keepdim=True) - scores).clamp(min=0)
    return torch.where(positives, in_row + in_column, 0.0).sum(dim=(-2, -1))


def hinge_all(scores: Tensor, positives: Tensor, margin: float) -> Tensor:
    """Every negative of each positive pair's row and column counts."""
    negatives = scores.masked_fill(positives, -torch.inf)
    in_row = hinge_sums(scores, positives, negatives, margin)
    in_column = hinge_sums(
        scores.mT.contiguous(), positives.mT.contiguous(), negatives.mT.contiguous(), margin
    )
    return in_row.sum(dim=-1) + in_column.sum(dim=-1)
