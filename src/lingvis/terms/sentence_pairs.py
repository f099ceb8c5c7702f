"""An objective between the sentences of a step: neighbourhood and cross-language constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from lingvis.objectives.base import Objective
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import AUTHORED, TERMS, Step, Term


@TERMS.register("pairs", "sentences about one picture are closer than others, with a separate objective")
class SentencePairs(Term):
    """An objective over the cosine of every two sentences written by people; 0 if no two belong together.

    Positives are two sentences about one picture whose languages are the same, different, or either; negatives
    are sentences about other pictures under the same condition. Each pair counts once, with each of the two as
    query. on: the sentence embedding, or the average of the word vectors. languages_apart: the mean over languages
    (same) or over pairs of languages (different), with negatives of that language or pair alone, as in the program of
    MULE (Kim et al. 2020).

    Caption-caption loss of Wehrmann et al. 2019 (different); neighbourhood constraints of Wang et al. 2018
    (same) and, across languages on both representations, of Kim et al. 2020 and Burns et al. 2020, Sec. 3.3.
    """

    def __init__(
        self,
        *,
        objective: Objective,
        on: Literal["sentence", "average"],
        languages: Literal["same", "different", "any"],
        languages_apart: bool = False,
    ) -> None:
        super().__init__()
        self.objective = objective
        self.on = on
        self.languages = languages
        self.languages_apart = languages_apart

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Languages are apart in pairs of the same or of different languages."""
        for name, term in recipe.terms.items():
            options = term.options
            if term.name == "pairs" and options.get("languages_apart") and options.get("languages") == "any":
                yield (
                    f"terms.{name}.languages_apart is true, but terms.{name}.languages is any; choose same or different, "
                    f"or set terms.{name}.languages_apart = false"
                )

    def forward(self, step: Step) -> Tensor:
        step = step.of(*AUTHORED)
        vectors = step.text_emb if self.on == "sentence" else F.normalize(step.word_average, dim=-1)
        if self.languages_apart:
            return self._apart(step, vectors)
        together = _equal(step.groups)
        compared = self._compared(step.langs)
        # The upper triangle: the matrix is symmetric.
        positives = (together & compared).triu(diagonal=1)
        scores = (vectors @ vectors.T).masked_fill(~(positives | (compared & ~together)), -torch.inf)
        loss: Tensor = self.objective(scores, positives, step.clock)
        return loss

    def _apart(self, step: Step, vectors: Tensor) -> Tensor:
        """The mean over languages, or over pairs of languages, that have a positive."""
        table = step.language_rows
        count = len(table.rows)
        first = second = torch.arange(count, device=vectors.device)
        if self.languages == "different":
            first, second = torch.triu_indices(count, count, offset=1, device=vectors.device)
        by_language, groups = vectors[table.rows], step.groups[table.rows]
        together = groups[first].unsqueeze(2) == groups[second].unsqueeze(1)  # [pairs, N, N]
        compared = table.valid[first].unsqueeze(2) & table.valid[second].unsqueeze(1)
        positives = together & compared
        if self.languages == "same":
            positives = positives.triu(diagonal=1)
        scores = by_language[first] @ by_language[second].mT
        scores = scores.masked_fill(~(positives | (compared & ~together)), -torch.inf)
        values: Tensor = self.objective(scores, positives, step.clock)
        return values.sum() / positives.any(dim=(-2, -1)).sum().clamp(min=1)

    def _compared(self, langs: Tensor) -> Tensor:
        """Which pairs of sentences are compared, bool [T, T]."""
        same = _equal(langs)
        if self.languages == "any":
            return torch.ones_like(same)
        return same if self.languages == "same" else ~same


def _equal(values: Tensor) -> Tensor:
    return values.unsqueeze(1) == values
