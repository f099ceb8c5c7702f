"""An objective between the sentences of a step: neighbourhood and cross-language constraints."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lingvis.objectives.base import Objective
from lingvis.terms.base import AUTHORED, TERMS, Step, Term


@TERMS.register("pairs", "sentences about one picture are closer than others, with a separate objective")
class SentencePairs(Term):
    """An objective over the cosine of every two sentences written by people; 0 if no two belong together.

    Positives are two sentences about one picture whose languages are the same, different, or either; negatives
    are sentences about other pictures under the same condition. Each pair counts once, with each of the two as
    query. on: the sentence embedding, or the average of the word vectors.

    Caption-caption loss of Wehrmann et al. 2019 (different); neighbourhood constraints of Wang et al. 2018
    (same) and, across languages on both representations, of Kim et al. 2020 and Burns et al. 2020, Sec. 3.3.
    """

    def __init__(
        self,
        *,
        objective: Objective,
        on: Literal["sentence", "average"],
        languages: Literal["same", "different", "any"],
    ) -> None:
        super().__init__()
        self.objective = objective
        self.on = on
        self.languages = languages

    def forward(self, step: Step) -> Tensor:
        step = step.of(*AUTHORED)
        vectors = step.text_emb if self.on == "sentence" else F.normalize(step.word_average, dim=-1)
        together = _equal(step.groups)
        compared = self._compared(step.langs)
        # The upper triangle: the matrix is symmetric.
        positives = (together & compared).triu(diagonal=1)
        scores = (vectors @ vectors.T).masked_fill(~(positives | (compared & ~together)), -torch.inf)
        loss: Tensor = self.objective(scores, positives, step.clock)
        return loss

    def _compared(self, langs: Tensor) -> Tensor:
        """Which pairs of sentences are compared, bool [T, T]."""
        same = _equal(langs)
        if self.languages == "any":
            return torch.ones_like(same)
        return same if self.languages == "same" else ~same


def _equal(values: Tensor) -> Tensor:
    return values.unsqueeze(1) == values
