"""The language adversary of MULE and SMALR."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Positive
from lingvis.terms.base import TERMS
from lingvis.terms.gradient_reversal import ramp, turn_gradient
from lingvis.types import Clock, Sentences


@TERMS.register("language_adversary", "a classifier must not tell languages apart by their word vectors")
class LanguageAdversary(nn.Module):
    """Cross entropy of a linear language classifier on the average word vector, its gradient turned round behind.

    Sentences -> scalar. The classifier learns to tell the languages apart; what lies before it receives the
    opposite gradient times lambda = 2 / (1 + exp(-eta p)) - 1, p the share of `total_steps` that is done.
    Ganin and Lempitsky 2015; Kim et al. 2020, whose reference scales by lambda twice: here it is once.
    """

    def __init__(self, *, word_dim: int, language_count: int, total_steps: int, eta: Positive = 10.0) -> None:
        super().__init__()
        self.classifier = nn.Linear(word_dim, language_count)
        self.total_steps, self.eta = total_steps, eta

    def strength(self, clock: Clock) -> float:
        """lambda, from 0 at the first step to nearly 1 at the last."""
        return ramp(clock, self.total_steps, self.eta)

    def forward(self, sentences: Sentences, clock: Clock) -> Tensor:
        turned = turn_gradient(sentences.average.float(), self.strength(clock))
        return F.cross_entropy(self.classifier(turned), sentences.langs)
