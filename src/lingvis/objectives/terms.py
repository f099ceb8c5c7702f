"""Terms of the loss between the sentences of a step, beside the objective between pictures and sentences."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.config import Positive
from lingvis.objectives.reversal import ramp, turn_gradient
from lingvis.registry import Registry
from lingvis.types import Clock, Sentences

TERMS: Registry[type[nn.Module]] = Registry("training term")


@TERMS.register("pairs", "sentences about one picture lie closer than others, by an objective of its own")
class SentencePairs(nn.Module):
    """An objective over the cosine of every two sentences of the step.

    Sentences -> scalar, 0 where no two belong together. Positive are two sentences about one picture whose
    languages are the same, different, or either; negatives are sentences about other pictures under the same
    condition. Each pair counts once, with both of its sentences as queries in turn.
    on: the sentence embedding, or the average of the word vectors.

    Caption-caption loss of Wehrmann et al. 2019 (different); neighbourhood constraints of Wang et al. 2018
    (same) and, across languages on both representations, of Kim et al. 2020 and Burns et al. 2020, Sec. 3.3.
    """

    def __init__(
        self,
        *,
        objective: nn.Module,
        on: Literal["sentence", "average"],
        languages: Literal["same", "different", "any"],
    ) -> None:
        super().__init__()
        self.objective, self.on, self.languages = objective, on, languages

    def forward(self, sentences: Sentences, clock: Clock) -> Tensor:
        vectors = sentences.emb if self.on == "sentence" else F.normalize(sentences.average.float(), dim=-1)
        together = _equal(sentences.groups)
        compared = self._compared(sentences.langs)
        # The upper triangle: the other half says the same again.
        positives = (together & compared).triu(diagonal=1)
        scores = (vectors @ vectors.T).masked_fill(~(positives | (compared & ~together)), -torch.inf)
        loss: Tensor = self.objective(scores, positives, clock)
        return loss

    def _compared(self, langs: Tensor) -> Tensor:
        """Which two sentences meet at all, bool [T, T]."""
        same = _equal(langs)
        if self.languages == "any":
            return torch.ones_like(same)
        return same if self.languages == "same" else ~same


def _equal(values: Tensor) -> Tensor:
    return values.unsqueeze(1) == values


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
