"""The contract of an objective, and the registry of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from torch import Tensor, nn

from lingvis.recipes.rules import RecipePart
from lingvis.registry import Registry
from lingvis.types import Clock

BEGINNING = Clock()


class Objective(nn.Module, RecipePart, ABC):
    """Scores and positives -> a scalar that training minimises.

    A non-positive entry of minus infinity is ignored: it is not a negative of its row or column. Matrices with leading
    dimensions, such as one per language, give a scalar each.
    """

    def phase(self, clock: Clock) -> Hashable:
        """Equal for all times at which the same operations are computed; their numbers may change, see `Clock.value`."""
        return ()

    @abstractmethod
    def forward(self, scores: Tensor, positives: Tensor, clock: Clock = BEGINNING) -> Tensor:
        """scores [..., images, texts], positives bool of the same shape -> [...]."""


OBJECTIVES: Registry[type[Objective]] = Registry("objective")
