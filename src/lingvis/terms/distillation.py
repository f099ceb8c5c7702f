"""Distillation: the model learns to score pseudo captions as its teachers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from lingvis.bounds import Positive
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import TERMS, Origin, Step, Term

TEACHER_SCORES = "teacher_scores"  # the pair values of a step that this term learns from


@TERMS.register("distillation", "the model scores pseudo captions as teachers do, softmax in both directions")
class Distillation(Term):
    """Mean over rows and columns of the cross entropy between the softmax of s / tau of the teachers and of the model.

    Also known as knowledge distillation or soft targets. Hinton et al. 2015, with the sentences of a picture and
    the pictures of a sentence in place of classes.
    """

    compares_pictures: ClassVar[bool] = True

    def __init__(self, *, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    @classmethod
    def learns_from(cls, options: Mapping[str, Any]) -> tuple[Origin, ...]:
        """Pseudo captions."""
        return (Origin.PSEUDO,)

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Pseudo captions must come from teachers."""
        for name, term in recipe.terms.items():
            if term.name == "distillation" and term.weight and recipe.pseudo.name != "teachers":
                yield (
                    f"terms.{name} learns from the scores of teachers, but pseudo.name is {recipe.pseudo.name}; set "
                    f"pseudo.name = teachers and pseudo.runs to their folders, or terms.{name}.weight = 0"
                )

    def forward(self, step: Step) -> Tensor:
        step = step.of(Origin.PSEUDO)
        if not len(step):
            return step.text_emb.new_zeros(())
        described = step.positives.any(dim=1, keepdim=True)
        return soft_cross_entropy(
            step.scores.masked_fill(~described, -torch.inf),
            step.pair_values[TEACHER_SCORES],
            self.temperature,
        )


def soft_cross_entropy(scores: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """scores, targets [I, T] -> scalar; a row or column of `scores` that is all minus infinity does not count."""
    absent = scores.isneginf()
    lowest = torch.finfo(scores.dtype).min
    predicted, expected = (
        (values.masked_fill(absent, 0.0) / temperature).masked_fill(absent, lowest)
        for values in (scores, targets.to(scores.dtype))
    )
    parts = []
    for dim in (0, 1):
        cost = -(expected.softmax(dim) * predicted.log_softmax(dim)).sum(dim)
        counted = ~absent.all(dim)
        parts.append(torch.where(counted, cost, 0.0).sum() / counted.sum().clamp(min=1))
    return torch.stack(parts).mean()
