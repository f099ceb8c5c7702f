"""Query methods: combine a query with its translations (CLC), or replace it by one translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lingvis.evaluation.clc.base import Consistency
from lingvis.evaluation.clc.scores import ConsistentScores
from lingvis.evaluation.clc.translations import Translations, translated, versions
from lingvis.evaluation.pools import EvaluationPool
from lingvis.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class TranslatedPool:
    """The pools to encode in place of one pool, and a function that combines their scorers.

    pools: the same images, with the texts in languages of the model.
    """

    pools: list[EvaluationPool]
    combine: Callable[[Sequence[Scorer]], Scorer]


class QueryMethod(Protocol):
    """A pool -> a translated pool; `description` goes into the report."""

    @property
    def description(self) -> dict[str, Any]: ...

    def translate(self, pool: EvaluationPool) -> TranslatedPool: ...


class ConsistentQueries:
    """The query and its translations, combined (CLC of SMALR, section 3.4)."""

    def __init__(
        self, consistency: Consistency, translations: Translations, description: dict[str, Any]
    ) -> None:
        self.consistency, self._translations = consistency, translations
        self.description = {**description, "languages": list(consistency.languages)}

    def with_consistency(self, consistency: Consistency, description: dict[str, Any]) -> ConsistentQueries:
        """A copy with another way to combine the translations."""
        return ConsistentQueries(consistency, self._translations, self.description | description)

    def translate(self, pool: EvaluationPool) -> TranslatedPool:
        """One pool per language of the model that has translations."""
        languages = self.consistency.languages
        by_language = versions(pool, languages, self._translations)
        nowhere = np.zeros(len(pool.texts), dtype=np.bool_)
        present = np.stack(
            [by_language[lang].present if lang in by_language else nowhere for lang in languages]
        )

        def combine(scorers: Sequence[Scorer]) -> ConsistentScores:
            scorer_of = dict(zip(by_language, scorers, strict=True))
            return ConsistentScores([scorer_of.get(lang) for lang in languages], present, self.consistency)

        return TranslatedPool([version.pool for version in by_language.values()], combine)


class TranslatedQueries:
    """The translation in place of the query ("Trans. to En" in the tables of SMALR)."""

    def __init__(self, target: str, translations: Translations, description: dict[str, Any]) -> None:
        self.target, self._translations = target, translations
        self.description = {**description, "translated_to": target}

    def translate(self, pool: EvaluationPool) -> TranslatedPool:
        """The pool in the target language alone."""
        replacement = pool if pool.lang == self.target else translated(pool, self.target, self._translations)
        return TranslatedPool([replacement], lambda scorers: scorers[0])
