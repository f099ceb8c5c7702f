"""Contrastive loss with several positives per row."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Positive
from lingvis.errors import UserError
from lingvis.objectives.base import BEGINNING, OBJECTIVES, Objective
from lingvis.types import Clock

# Bounds of a learned temperature.
LOWEST, HIGHEST = 0.005, 1.0


@OBJECTIVES.register(
    "contrastive", "softmax over the negatives, both directions (InfoNCE), several positives"
)
class Contrastive(Objective):
    """Mean over positive pairs (i, t) and both directions of -log(e^(s(i,t)/tau) / (e^(s(i,t)/tau) + negatives)).

    scores [..., I, T], positives bool [..., I, T] -> [...]. The negatives are the sum of e^(s/tau) over the negatives of
    the pair's row or column; other positives are left out, so that they do not push each other away.
    van den Oord et al. 2018, Eq. 4, in both directions as in Radford et al. 2021. Also known as InfoNCE, NT-Xent and
    cross entropy with in-batch negatives.

    learned: `temperature` is the start value of tau. Its logarithm is a sigmoid between the bounds, which tau
    therefore never reaches; a clamped tau would have no gradient there.
    """

    def __init__(self, *, temperature: Positive, learned: bool = False) -> None:
        super().__init__()
        if learned and not LOWEST < temperature < HIGHEST:
            raise UserError(
                f"a learned temperature starts between {LOWEST} and {HIGHEST}, got {temperature}; "
                "choose one in between, such as 0.07, or set learned to false"
            )
        self._given = temperature
        self.position = nn.Parameter(_position(temperature)) if learned else None

    @property
    def temperature(self) -> Tensor | float:
        """tau."""
        if self.position is None:
            return self._given
        return LOWEST * (HIGHEST / LOWEST) ** self.position.sigmoid()

    def forward(self, scores: Tensor, positives: Tensor, clock: Clock = BEGINNING) -> Tensor:
        absent = scores.isneginf()
        # Minus infinity would make the gradient of a learned temperature NaN.
        logits = scores.masked_fill(absent, 0.0) / self.temperature
        # Finite: the sum over a row that is all minus infinity has no gradient.
        negatives = logits.masked_fill(positives | absent, torch.finfo(logits.dtype).min)
        in_row = F.softplus(negatives.logsumexp(dim=-1, keepdim=True) - logits)
        in_column = F.softplus(negatives.logsumexp(dim=-2, keepdim=True) - logits)
        total = torch.where(positives, in_row + in_column, 0.0).sum(dim=(-2, -1))
        return total / (2 * positives.sum(dim=(-2, -1)).clamp(min=1))


def _position(temperature: float) -> Tensor:
    """The argument of the sigmoid for this temperature."""
    return torch.tensor(math.log(temperature / LOWEST) / math.log(HIGHEST / LOWEST)).logit()
