"""Triplet loss over the hardest few negatives."""

from __future__ import annotations

import torch
from torch import Tensor

from lingvis.bounds import Count, Positive
from lingvis.objectives.base import BEGINNING, OBJECTIVES, Objective
from lingvis.objectives.hinges import hinge_sums
from lingvis.types import Clock


@OBJECTIVES.register(
    "top_triplet", "triplet loss: the mean over the hardest few negatives (EmbN, MULE, SMALR)"
)
class TopTriplet(Objective):
    """Mean over positive pairs (i, t) of the mean hinge against the `hardest` top-scoring negatives.

    scores [..., I, T], positives bool [..., I, T] -> [...]. A picture as query has the negatives of its row, a
    sentence the negatives of its column: [margin + s(negative) - s(i, t)]+, times `image_weight` and `text_weight`.
    With fewer negatives than `hardest`, the mean is over all of them. Also known as top-K hard negative mining.

    Burns et al. 2020, Eq. 1 and 3: margin 0.05, 10 hardest, and lambda_1 = 1.5 for the sentence as query, as in the
    program of MULE (Kim et al. 2020).
    """

    def __init__(
        self, *, margin: Positive, hardest: Count, image_weight: Positive = 1.0, text_weight: Positive = 1.0
    ) -> None:
        super().__init__()
        self.margin = margin
        self.hardest = hardest
        self.image_weight = image_weight
        self.text_weight = text_weight

    def forward(self, scores: Tensor, positives: Tensor, clock: Clock = BEGINNING) -> Tensor:
        pictures = self._queries(scores, positives)
        sentences = self._queries(scores.mT.contiguous(), positives.mT.contiguous())
        total = self.image_weight * pictures + self.text_weight * sentences
        return total / positives.sum(dim=(-2, -1)).clamp(min=1)

    def _queries(self, scores: Tensor, positives: Tensor) -> Tensor:
        """The sum over positive pairs of their mean hinge, with rows as queries."""
        negatives = scores.masked_fill(positives, -torch.inf)
        top = negatives.topk(min(self.hardest, scores.shape[-1]), dim=-1).values
        count = (top > -torch.inf).sum(dim=-1).clamp(min=1)
        return (hinge_sums(scores, positives, top, self.margin) / count).sum(dim=-1)
