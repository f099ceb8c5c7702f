"""Every training picture is a class of its own, with its sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Positive
from lingvis.recipes.schema import Recipe
from lingvis.similarity import SIMILARITIES
from lingvis.terms.base import AUTHORED, TERMS, Step, Term


@TERMS.register(
    "instances", "each picture and its sentences are a class that one classifier recognises (DPC)"
)
class Instances(Term):
    """Cross entropy of a classifier over all training pictures, mean over pictures plus mean over human captions.

    The instance loss of Zheng et al. 2020: softmax(W x / temperature) with one W [pictures, dim] for both
    sides, so that a picture and its sentences are drawn to the same row. There x is the vector before it is given unit
    length; here it has unit length, and the temperature takes the place of its length.
    """

    compares_pictures: ClassVar[bool] = True

    def __init__(self, *, dim: int, picture_count: int, temperature: Positive = 0.05) -> None:
        super().__init__()
        self.temperature = temperature
        self.classifier = nn.Linear(dim, picture_count, bias=False)

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """A picture and a sentence must have one vector each."""
        if not SIMILARITIES.get(recipe.similarity.name).pooled:
            yield (
                f"term instances classifies one vector per picture, but similarity {recipe.similarity.name} compares "
                "several; set similarity.name = cosine, or leave the term out"
            )

    def forward(self, step: Step) -> Tensor:
        human = step.of(*AUTHORED)
        sentences = self._cost(human.text_emb, human.groups, human.groups < len(self.classifier.weight))
        described = human.positives.any(dim=1)  # the others are fillers
        classes = human.groups[human.positives.to(torch.uint8).argmax(dim=1)]
        return sentences + self._cost(step.image_emb, classes, described)

    def _cost(self, emb: Tensor, classes: Tensor, counted: Tensor) -> Tensor:
        """Mean cross entropy of the vectors that count; the others have no picture, or are fillers."""
        logits = self.classifier(emb) / self.temperature
        costs = F.cross_entropy(logits, classes.clamp(max=logits.shape[1] - 1), reduction="none")
        return torch.where(counted, costs, 0.0).sum() / counted.sum().clamp(min=1)
