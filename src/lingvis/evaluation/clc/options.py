"""Options for combined (CLC) or translated queries -> the query method of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.evaluation.clc.base import METHODS
from lingvis.evaluation.clc.fit import FitResult, FitScores, fit
from lingvis.evaluation.clc.mean import MeanConsistency
from lingvis.evaluation.clc.queries import ConsistentQueries, QueryMethod, TranslatedQueries
from lingvis.evaluation.clc.scores import ConsistentScores
from lingvis.evaluation.clc.translations import Translations, machine_translations, parallel_translations
from lingvis.evaluation.evaluate import ScoredPools, score_pools
from lingvis.evaluation.models import ImageSource
from lingvis.evaluation.pools import languages_in
from lingvis.evaluation.protocols import EvaluationProtocol
from lingvis.evaluation.scorers import EVERY
from lingvis.text.translators import TRANSLATORS, Translator

FIT_SPLIT = "val"
FIT_IMAGES = 1000  # as in the papers' validation sets; the scores of all languages are in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """How queries are translated; without `consistency` and `translate_to` they are not.

    consistency: mean or learned. translate_to: a language. translator: its registered name, or a translator; None: the
    sentences of `parallel` in the dataset. save_in: the model folder to store the learned consistency in.
    """

    consistency: str | None = None
    translate_to: str | None = None
    translator: str | Translator | None = None
    save_in: Path | None = None

    def check(self, split: str, models: int) -> None:
        """Raise if options contradict each other, before any file is read."""
        if self.consistency is not None and self.consistency not in METHODS:
            raise UserError(f"unknown consistency {self.consistency!r}; choose one of: {choices(METHODS)}")
        if self.consistency is not None and self.translate_to is not None:
            raise UserError("got both `consistency` and `translate_to`; choose one of the two")
        if self.translator is not None and self.consistency is None and self.translate_to is None:
            raise UserError(
                "`translator` has no effect without `consistency` or `translate_to`; add one of them"
            )
        if isinstance(self.translator, str):
            TRANSLATORS.get(self.translator)
        if self.save_in is not None and (self.consistency != "learned" or models > 1):
            raise UserError(
                "`save_consistency` stores the learned consistency of one model; it needs `consistency` learned "
                f"and one model, got {self.consistency or 'none'} and {models} models"
            )
        if self.consistency == "learned" and split == FIT_SPLIT:
            raise UserError(
                f"`consistency` learned is fitted on split {FIT_SPLIT}, so its scores there are not valid; "
                "measure another split"
            )


def choose_query_method(
    options: QueryOptions,
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: EvaluationProtocol,
    split: str,
    languages: Sequence[str],
) -> QueryMethod | None:
    """The query method of the options; None for untranslated queries.

    languages: of the queries, which are translated into languages that all models were trained on.
    """
    if options.consistency is None and options.translate_to is None:
        return None
    translations, source = _translations(dataset, options.translator)
    known = known_to_all(models)
    if options.translate_to is not None:
        if options.translate_to not in known:
            raise UserError(
                f"the model was not trained on {options.translate_to!r}; it was trained on: {choices(known)}"
            )
        return TranslatedQueries(options.translate_to, translations, {"translations": source})
    if options.translator is None:
        available: Sequence[str] = languages_in(dataset, protocol, split)
    else:
        available = protocol.languages or known
    combined = [lang for lang in known if lang in available]
    if len(combined) < 2:
        raise UserError(
            f"`consistency` needs two languages that the model was trained on and protocol {protocol.name} has, "
            f"found: {choices(combined)}; trained on: {choices(known)}"
        )
    description = {"consistency": options.consistency, "translations": source}
    mean = ConsistentQueries(MeanConsistency(combined), translations, description)
    if options.consistency == "mean":
        return mean
    fitted = _fit(models, dataset, protocol, languages, mean)
    if options.save_in is not None:
        fitted.consistency.save(options.save_in)
    return mean.with_consistency(fitted.consistency, {"fit": {"split": FIT_SPLIT, **fitted.record}})


def known_to_all(models: Sequence[ImageSource]) -> list[str]:
    """The languages that every model was trained on."""
    first, *others = (source.model.languages for source in models)
    return [lang for lang in first if all(lang in languages for languages in others)]


def _translations(dataset: Dataset, translator: str | Translator | None) -> tuple[Translations, str]:
    if translator is None:
        return parallel_translations(dataset), "parallel"
    if isinstance(translator, str):
        return machine_translations(TRANSLATORS.get(translator)()), translator
    return machine_translations(translator), getattr(translator, "name", type(translator).__name__)


def _fit(
    models: Sequence[ImageSource],
    dataset: Dataset,
    protocol: EvaluationProtocol,
    languages: Sequence[str],
    mean: ConsistentQueries,
) -> FitResult:
    """Fit on validation, whose size may differ from the test size that the protocol requires."""
    relaxed = replace(protocol, splits=(FIT_SPLIT,), images=None, captions=None, folds=1)
    scored = score_pools(
        models, dataset, protocol=relaxed, split=FIT_SPLIT, languages=languages, queries=mean
    )
    return fit(mean.consistency.languages, _fit_scores(scored))


def _fit_scores(scored: ScoredPools) -> list[FitScores]:
    """The scores of each language; languages whose scores are equal count once.

    Parallel sentences are all translations of each other, so every language has the same scores.
    """
    distinct: list[FitScores] = []
    for pool, scorer in zip(scored.pools, scored.scorers, strict=True):
        if not isinstance(scorer, ConsistentScores):
            raise TypeError(f"expected scores with translations, got {type(scorer).__name__}")
        texts = np.flatnonzero(pool.image_of < FIT_IMAGES)
        stacked = scorer.take(slice(FIT_IMAGES), texts).stacked(EVERY, EVERY)
        scores = FitScores(stacked, pool.image_of[texts])
        if not any(_same(scores, other) for other in distinct):
            distinct.append(scores)
    return distinct


def _same(one: FitScores, other: FitScores) -> bool:
    return np.array_equal(one.image_of, other.image_of) and np.array_equal(one.scores, other.scores)
