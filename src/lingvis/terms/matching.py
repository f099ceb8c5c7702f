"""The objective between pictures and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

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

    compares_pictures: ClassVar[bool] = True

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
    def learns_from(cls, options: Mapping[str, Any]) -> tuple[Origin, ...]:
        """Human captions, or pseudo captions."""
        return (Origin.PSEUDO,) if options.get("of") == "pseudo" else (Origin.HUMAN,)

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Pseudo captions need a source; hidden words need batches of human captions alone."""
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
            if term.options.get("hidden") and recipe.data.classes:
                yield (
                    f"terms.{name} hides words in every batch, which names of classes cannot join; set "
                    f"terms.{name}.hidden = 0, or data.classes = false"
                )

    @property
    def rereads(self) -> bool:
        """Whether words are hidden."""
        return self.hidden > 0

    def forward(self, step: Step) -> Tensor:
        if self.hidden:
            step = replace(step, text_emb=step.reread(self.hidden).text_emb)
        part = self._sentences(step)
        counts = self._counts(part)
        scores = part.scores.split(counts, dim=1)  # type: ignore[no-untyped-call]
        return _sum(
            [
                self.objective(scores[place].masked_fill(~compared, -torch.inf), positives, step.clock)
                for place, positives, compared in _compared(part, counts)
            ],
            step,
        )

    @torch.no_grad()
    def blind(self, step: Step) -> Tensor | None:
        """The value for equal scores; None for pseudo captions or hidden words."""
        if self.hidden or self.of != "human":
            return None
        part = self._sentences(step)
        return _sum(
            [
                self.objective(
                    positives.new_zeros(positives.shape, dtype=torch.float32).masked_fill(
                        ~compared, -torch.inf
                    ),
                    positives,
                    step.clock,
                )
                for _, positives, compared in _compared(part, self._counts(part))
            ],
            step,
        )

    def _sentences(self, step: Step) -> Step:
        """The step with the sentences that take part."""
        return step.of(*AUTHORED) if self.of == "human" else step.of(Origin.PSEUDO)

    def _counts(self, part: Step) -> list[int]:
        """Numbers of consecutive sentences that are compared together."""
        if not self.languages_apart:
            return [len(part)]
        starts = np.flatnonzero(np.diff(part.columns.langs, prepend=-1))
        counts: list[int] = np.diff(starts, append=len(part)).tolist()
        return counts


def _compared(part: Step, counts: list[int]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Place, positives [I, t] and compared pairs [I, t] of each run of sentences that has a picture at all.

    A picture or a sentence without a positive is compared with nothing.
    """
    has_picture = np.split(part.columns.origin != Origin.TEXT_ONLY, np.cumsum(counts)[:-1])
    runs = part.positives.split(counts, dim=1)  # type: ignore[no-untyped-call]
    for place, positives in enumerate(runs):
        if has_picture[place].any():
            yield place, positives, positives.any(dim=1, keepdim=True) & positives.any(dim=0, keepdim=True)


def _sum(costs: list[Tensor], step: Step) -> Tensor:
    return torch.stack(costs).sum() if costs else step.text_emb.new_zeros(())
