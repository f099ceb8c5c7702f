"""Terms of the classes of a pre-trained backbone: they get names, and the backbone keeps recognising them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from lingvis.bounds import Positive
from lingvis.objectives.base import Objective
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import TERMS, ClassStep, Origin, Step, Term


class ClassTerm(Term):
    """A term that needs the classes of a step."""

    @classmethod
    def learns_from(cls, options: Mapping[str, Any]) -> tuple[Origin, ...]:
        """Names of classes."""
        return (Origin.CLASS,)

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """The model must have classes, and the data their names."""
        if recipe.image.classes.name != "none" and recipe.data.classes:
            return
        for name, term in recipe.terms.items():
            if TERMS.get(term.name) is cls and term.weight:
                yield (
                    f"terms.{name} needs image.classes.name = named and data.classes = true; set both, or "
                    f"terms.{name}.weight = 0"
                )

    @staticmethod
    def classes(step: Step) -> ClassStep:
        """The classes of a step."""
        assert step.classes is not None
        return step.classes


@TERMS.register(
    "class_names", "an objective between imagined pictures of classes and the names of the classes"
)
class ClassNames(ClassTerm):
    """objective(scores of pictures with one more class [K, S], which class each sentence was written for).

    A general name, such as "bird", is written for one class at a time and is not a negative of the others.
    """

    def __init__(self, *, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, step: Step) -> Tensor:
        classes = self.classes(step)
        scores = step.similarity(classes.image_emb, step.of(Origin.CLASS).text_emb)
        ignored = classes.named & ~classes.positives
        loss: Tensor = self.objective(scores.masked_fill(ignored, -torch.inf), classes.positives, step.clock)
        return loss


@TERMS.register("class_scores", "the backbone keeps the classes that it recognised before training")
class ClassScores(ClassTerm):
    """Cross entropy between the classes of pictures before training and now, both softmax(scores / temperature).

    Learning without forgetting, Li and Hoiem 2016, Eq. 2 to 4. The scores before training are those of the whole
    picture, the present ones those of the augmented picture.
    """

    def __init__(self, *, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, step: Step) -> Tensor:
        classes = self.classes(step)
        expected = (classes.known.float() / self.temperature).softmax(dim=-1)
        predicted = (classes.scores.float() / self.temperature).log_softmax(dim=-1)
        costs = -(expected * predicted).sum(dim=-1)
        pictures = step.positives.any(dim=1)  # the others are fillers
        return torch.where(pictures, costs, 0.0).sum() / pictures.sum().clamp(min=1)
