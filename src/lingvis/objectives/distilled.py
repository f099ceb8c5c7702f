"""Distillation: scores like those of teachers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lingvis.bounds import Positive
from lingvis.objectives.ranking import OBJECTIVES
from lingvis.types import Clock


@OBJECTIVES.register(
    "distilled", "scores like those of teachers, softmax in both directions; for pseudo.teachers"
)
class Distilled(nn.Module):
    """Mean over rows and columns of the cross entropy between the teachers' softmax of s/tau and the model's own.

    scores, taught [I, T] -> scalar; a row or column of nothing but minus infinity is not there.
    Hinton et al. 2015, between sentences of a picture and between pictures of a sentence in place of classes.
    """

    def __init__(self, *, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, scores: Tensor, taught: Tensor, clock: Clock = Clock()) -> Tensor:  # noqa: B008
        absent = scores.isneginf()
        lowest = torch.finfo(scores.dtype).min
        own, wanted = (
            (each.masked_fill(absent, 0.0) / self.temperature).masked_fill(absent, lowest)
            for each in (scores, taught.to(scores.dtype))
        )
        parts = []
        for dim in (0, 1):
            missed = -(wanted.softmax(dim) * own.log_softmax(dim)).sum(dim)
            there = ~absent.all(dim)
            parts.append(torch.where(there, missed, 0.0).sum() / there.sum().clamp(min=1))
        return torch.stack(parts).mean()
