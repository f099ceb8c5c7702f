"""The objective between pictures and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from lingvis.bounds import Share
from lingvis.objectives.base import Objective
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import AUTHORED, TERMS, Origin, Step, Term


@TERMS.register("matching", "an objective between pictures and their sentences")
class Matching(Term):
    """objective(scores, positives), summed over languages if `languages_apart`.

    of: the sentences to use, human captions or pseudo captions. languages_apart: negatives come from the same
    language (Burns et al. 2020, Eq. 3; the paper does not say whether languages are summed or
    averaged: with the mean, terms between sentences weigh so much that MULE and SMALR do not learn). hidden: the
    share of words to hide first (SMALR, section 3.2: masked sentences enter the multimodal loss too).

    A picture or a sentence without a positive is no negative either.
    """

    def __init__(
        self,
        *,
        objective: Objective,
        of: Literal["human", "pseudo"] = "human",
        languages_apart: bool = False,
        hidden: Share = 0.0,
    ) -> None:
        super().__init__()
        self.objective = objective
        self.of = of
        self.languages_apart = languages_apart
        self.hidden = hidden

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Pseudo captions need a source; hidden words need batches without pseudo captions."""
        for name, term in recipe.terms.items():
            if term.name != "matching" or not term.weight:
                continue
            if term.options.get("of") == "pseudo" and recipe.pseudo.name == "none":
                yield (
                    f"terms.{name} learns from pseudo captions, but pseudo.name is none; name their source, such as "
                    f"pseudo.name = detectors, or set terms.{name}.weight = 0"
                )
            if term.options.get("hidden") and recipe.pseudo.name != "none":
                yield (
                    f"terms.{name} hides words in every batch, which pseudo captions cannot join; set "
                    f"terms.{name}.hidden = 0, or pseudo.name = none"
                )

    @property
    def rereads(self) -> bool:
        """Whether words are hidden."""
        return self.hidden > 0

    def forward(self, step: Step) -> Tensor:
        if self.hidden:
            step = replace(step, text_emb=step.reread(self.hidden).text_emb)
        costs = [
            self.objective(scores.masked_fill(~compared, -torch.inf), positives, step.clock)
            for scores, positives, compared in self._parts(step)
        ]
        return torch.stack(costs).sum() if costs else step.text_emb.new_zeros(())

    @torch.no_grad()
    def blind(self, step: Step) -> Tensor | None:
        """The value for equal scores; None for pseudo captions or hidden words."""
        if self.hidden or self.of != "human":
            return None
        costs = [
            self.objective(torch.zeros_like(scores).masked_fill(~compared, -torch.inf), positives, step.clock)
            for scores, positives, compared in self._parts(step)
        ]
        return torch.stack(costs).sum() if costs else step.text_emb.new_zeros(())

    def _parts(self, step: Step) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Scores, positives and compared pairs, each [I, t], of the sentences that are compared together."""
        part = step.of(*AUTHORED) if self.of == "human" else step.of(Origin.PSEUDO)
        columns = part.columns
        edges = (
            np.flatnonzero(np.diff(columns.langs, prepend=-1)) if self.languages_apart else np.zeros(1, int)
        )
        counts = np.diff(edges, append=len(part)).tolist()
        shown = np.split(columns.origin != Origin.TEXT_ONLY, np.cumsum(counts)[:-1])
        pairs = zip(shown, part.scores.split(counts, dim=1), part.positives.split(counts, dim=1), strict=True)  # type: ignore[no-untyped-call]
        for with_picture, scores, positives in pairs:
            if with_picture.any():
                yield (
                    scores,
                    positives,
                    positives.any(dim=1, keepdim=True) & positives.any(dim=0, keepdim=True),
                )
