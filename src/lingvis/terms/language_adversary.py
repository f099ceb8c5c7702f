"""The language adversary of MULE and SMALR."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Positive
from lingvis.terms.base import AUTHORED, TERMS, Step, Term
from lingvis.terms.gradient_reversal import ramp, reverse_gradient
from lingvis.types import Clock


@TERMS.register(
    "language_adversary", "a classifier must not distinguish languages by their word vectors (MULE, SMALR)"
)
class LanguageAdversary(Term):
    """Cross entropy of a linear language classifier on the average word vector, behind a gradient reversal.

    The classifier learns to distinguish the languages; the layers before it receive the opposite gradient times
    lambda = 2 / (1 + exp(-eta p)) - 1, with p the completed share of `total_steps`.
    Ganin and Lempitsky 2015; Kim et al. 2020, whose code multiplies by lambda twice; here it is applied once.
    """

    def __init__(self, *, word_dim: int, language_count: int, total_steps: int, eta: Positive = 10.0) -> None:
        super().__init__()
        self.classifier = nn.Linear(word_dim, language_count)
        self.total_steps, self.eta = total_steps, eta

    def strength(self, clock: Clock) -> float:
        """lambda, from 0 at the first step to nearly 1 at the last."""
        return ramp(clock, self.total_steps, self.eta)

    def forward(self, step: Step) -> Tensor:
        step = step.of(*AUTHORED)
        reversed_ = reverse_gradient(step.word_average, step.clock.value(self.strength))
        return F.cross_entropy(self.classifier(reversed_), step.langs)
