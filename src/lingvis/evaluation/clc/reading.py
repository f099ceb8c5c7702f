"""How a query reaches the model other than as it is: together with its translations, or as a translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lingvis.evaluation.clc.consistency import Consistency
from lingvis.evaluation.clc.scores import ConsistentScores
from lingvis.evaluation.clc.translations import Translations, translated, versions
from lingvis.evaluation.pools import Pool
from lingvis.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class Plan:
    """What to embed for a pool, and how the scorers of that become one.

    pools: the same images and texts in the languages that the model reads them in.
    """

    pools: list[Pool]
    scorer: Callable[[Sequence[Scorer]], Scorer]


class Reading(Protocol):
    """A pool -> a plan; `description` goes into the report."""

    @property
    def description(self) -> dict[str, Any]: ...

    def plan(self, pool: Pool) -> Plan: ...


class WithTranslations:
    """The query and its translations, combined (CLC of SMALR, section 3.4)."""

    def __init__(
        self, consistency: Consistency, translations: Translations, description: dict[str, Any]
    ) -> None:
        self.consistency, self._translations = consistency, translations
        self.description = {**description, "languages": list(consistency.languages)}

    def with_consistency(self, consistency: Consistency, description: dict[str, Any]) -> WithTranslations:
        """The same translations, combined in another way."""
        return WithTranslations(consistency, self._translations, self.description | description)

    def plan(self, pool: Pool) -> Plan:
        """A pool for each language of the model that translations can be had in."""
        languages = self.consistency.languages
        found = versions(pool, languages, self._translations)
        nowhere = np.zeros(len(pool.texts), dtype=np.bool_)
        present = np.stack([found[lang].present if lang in found else nowhere for lang in languages])

        def scorer(scorers: Sequence[Scorer]) -> ConsistentScores:
            by_lang = dict(zip(found, scorers, strict=True))
            return ConsistentScores([by_lang.get(lang) for lang in languages], present, self.consistency)

        return Plan([version.pool for version in found.values()], scorer)


class TranslatedTo:
    """The translation in place of the query ("Trans. to En" in the tables of SMALR)."""

    def __init__(self, target: str, translations: Translations, description: dict[str, Any]) -> None:
        self.target, self._translations = target, translations
        self.description = {**description, "translated_to": target}

    def plan(self, pool: Pool) -> Plan:
        """The pool in the target language alone."""
        instead = pool if pool.lang == self.target else translated(pool, self.target, self._translations)
        return Plan([instead], lambda scorers: scorers[0])
