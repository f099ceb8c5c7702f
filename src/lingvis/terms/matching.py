"""The objective between pictures and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lingvis.bounds import Share
from lingvis.objectives.base import Objective
from lingvis.recipes.rules import chunk_problems
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import AUTHORED, TERMS, Origin, Step, Term


@TERMS.register("matching", "an objective between pictures and their sentences")
class Matching(Term):
    """objective(scores, positives), for each language alone if `languages_apart`.

    of: the sentences to use, human captions or pseudo captions. languages_apart: negatives come from the same
    language (Burns et al. 2020, Eq. 3). over_languages: whether the values of the languages are added up, or their mean
    is taken, as in the program of MULE (Kim et al. 2020): with the sum, terms between sentences lose weight with every
    further language. hidden: the share of words to hide first (SMALR, section 3.2: masked sentences enter the
    multimodal loss too).

    A picture or a sentence without a positive is no negative either. A pseudo caption counts once, with the picture that
    it was written for, however many pictures of the batch are described by the same words.
    """

    compares_pictures: ClassVar[bool] = True

    def __init__(
        self,
        *,
        objective: Objective,
        of: Literal["human", "pseudo"] = "human",
        languages_apart: bool = False,
        over_languages: Literal["sum", "mean"] = "sum",
        hidden: Share = 0.0,
    ) -> None:
        super().__init__()
        self.objective = objective
        self.of = of
        self.languages_apart = languages_apart
        self.over_languages = over_languages
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
            if term.options.get("hidden"):
                yield from chunk_problems(recipe, f"terms.{name} with hidden words encodes")

    @property
    def rereads(self) -> bool:
        """Whether words are hidden."""
        return self.hidden > 0

    def forward(self, step: Step) -> Tensor:
        if self.hidden:
            step = replace(step, text_emb=step.reread(self.hidden).text_emb)
        part = self._sentences(step)
        return self._value(part.scores, part)

    @classmethod
    def watched(cls, options: Mapping[str, Any]) -> bool:
        """With human captions whose words are all visible."""
        return not options.get("hidden") and options.get("of", "human") == "human"

    @torch.no_grad()
    def blind(self, step: Step) -> Tensor | None:
        """The value for equal scores; None for pseudo captions or hidden words."""
        if not self.watched({"of": self.of, "hidden": self.hidden}):
            return None
        part = self._sentences(step)
        return self._value(torch.zeros_like(part.positives, dtype=torch.float32), part)

    def _sentences(self, step: Step) -> Step:
        """The step with the sentences that take part."""
        return step.of(*AUTHORED) if self.of == "human" else step.of(Origin.PSEUDO)

    def _value(self, scores: Tensor, part: Step) -> Tensor:
        """The value of scores [I, T] of the sentences of a step."""
        if not len(part):
            return scores.new_zeros(())
        positives = part.positives
        if self.of == "pseudo":
            own = positives & (part.images.unsqueeze(1) == part.groups)
            scores = scores.masked_fill(positives & ~own, -torch.inf)
            positives = own
        if self.languages_apart:
            table = part.language_rows
            scores = scores[:, table.rows].transpose(0, 1)  # [L, I, N]
            positives = positives[:, table.rows].transpose(0, 1) & table.valid.unsqueeze(1)
        compared = positives.any(dim=-1, keepdim=True) & positives.any(dim=-2, keepdim=True)
        values: Tensor = self.objective(scores.masked_fill(~compared, -torch.inf), positives, part.clock)
        if self.over_languages == "sum":
            return values.sum()
        return values.sum() / positives.any(dim=(-2, -1)).sum().clamp(min=1)
