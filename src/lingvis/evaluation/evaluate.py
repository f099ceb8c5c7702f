"""Models on a dataset under a protocol -> a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lingvis import __version__
from lingvis.arrays import Ints
from lingvis.data.dataset import Dataset
from lingvis.evaluation import metrics
from lingvis.evaluation.clc.queries import QueryMethod
from lingvis.evaluation.metrics import RetrievalScores
from lingvis.evaluation.models import ImageSource, scorers
from lingvis.evaluation.pools import EvaluationPool, pools
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.ranks import TIE_RULE, Ranks, ranks
from lingvis.evaluation.result import LanguageScores, Report
from lingvis.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class QueryScorers:
    """Additional data of translated queries.

    languages: of the queries that the model encodes, per pool. single: the scorer of the untranslated
    sentences alone, None if a model was not trained on the language.
    """

    description: dict[str, Any]
    languages: list[list[str]]
    single: list[Scorer | None]


@dataclass(frozen=True, slots=True)
class ScoredPools:
    """Pools and their scorers: the source of the numbers, the example queries and the map."""

    models: Sequence[ImageSource]
    dataset: Dataset
    protocol: EvaluationProtocol
    split: str
    pools: list[EvaluationPool]
    scorers: list[Scorer]
    queries: QueryScorers | None = None


def score_pools(
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    queries: QueryMethod | None = None,
) -> ScoredPools:
    """Encode the images and sentences of a protocol; several models are one ensemble (the mean of their scores).

    queries: how queries are translated; None: not at all.
    """
    chosen = find_protocol(protocol) if isinstance(protocol, str) else protocol
    chosen_split = chosen.split(split)
    measured = pools(dataset, chosen, chosen_split, languages)
    if queries is None:
        return ScoredPools(models, dataset, chosen, chosen_split, measured, scorers(models, measured))
    combined, details = _translate(models, measured, queries)
    return ScoredPools(models, dataset, chosen, chosen_split, measured, combined, details)


def _translate(
    models: Sequence[ImageSource], measured: Sequence[EvaluationPool], queries: QueryMethod
) -> tuple[list[Scorer], QueryScorers]:
    """Scorers of the translated queries and of the sentences alone; everything is encoded once."""
    known = [pool for pool in measured if all(pool.lang in source.model.languages for source in models)]
    translated = [queries.translate(pool) for pool in measured]
    rest = iter(scorers(models, [*known, *(pool for each in translated for pool in each.pools)]))
    single = {pool.lang: next(rest) for pool in known}
    combined = [each.combine([next(rest) for _ in each.pools]) for each in translated]
    languages = [[pool.lang for pool in each.pools] for each in translated]
    return combined, QueryScorers(
        queries.description, languages, [single.get(pool.lang) for pool in measured]
    )


def measure(scored: ScoredPools) -> Report:
    """The report: the numbers of every language."""
    protocol, queries = scored.protocol, scored.queries
    models = [source.model for source in scored.models]
    trained = {lang for model in models for lang in model.languages}
    read_in = [[pool.lang] for pool in scored.pools] if queries is None else queries.languages
    languages = {
        pool.lang: _language(pool, scorer, protocol.folds, zero_shot=trained.isdisjoint(langs))
        for pool, scorer, langs in zip(scored.pools, scored.scorers, read_in, strict=True)
    }
    report = Report(
        model=" + ".join(model.name for model in models),
        dataset=scored.dataset.path.resolve().name,
        split=scored.split,
        protocol=protocol.name,
        parameters={
            side: sum(model.parameters[side] for model in models) for side in ("image", "text", "total")
        },
        languages=languages,
        A=metrics.mean_over(languages, languages),
        HA=metrics.mean_over(languages, protocol.human),
        ties=TIE_RULE,
        dataset_sha256=scored.dataset.fingerprint,
        lingvis=__version__,
    )
    return report if queries is None else _with_single(report, scored, queries)


def _with_single(report: Report, scored: ScoredPools, queries: QueryScorers) -> Report:
    """Add the scores of the untranslated sentences to the report."""
    single = {
        pool.lang: _scores(pool, scorer, scored.protocol.folds)
        for pool, scorer in zip(scored.pools, queries.single, strict=True)
        if scorer is not None
    }
    languages = {
        lang: replace(scores, read_in=read_in, single=single.get(lang))
        for (lang, scores), read_in in zip(report.languages.items(), queries.languages, strict=True)
    }
    means = {
        "A": metrics.mean_over(single, single),
        "HA": metrics.mean_over(single, scored.protocol.human),
    }
    return replace(report, languages=languages, reading=queries.description, single=means)


def evaluate_models(
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    queries: QueryMethod | None = None,
) -> Report:
    """Score and measure; the report has, for example, `report.languages["de"].mR`."""
    return measure(
        score_pools(models, dataset, protocol=protocol, split=split, languages=languages, queries=queries)
    )


def _language(pool: EvaluationPool, scorer: Scorer, folds: int, *, zero_shot: bool) -> LanguageScores:
    scores = _scores(pool, scorer, folds)
    return LanguageScores(
        i2t=scores.i2t,
        t2i=scores.t2i,
        zero_shot=zero_shot,
        images=len(pool.images),
        captions=len(pool.texts),
        chance=pool_chance(pool, folds),
        sentences=pool.source,
    )


def pool_chance(pool: EvaluationPool, folds: int) -> float:
    """mR of a random order, the mean over folds."""
    return float(np.mean([metrics.chance(image_of) for _, _, image_of in _folds(pool, folds)]))


def pool_ranks(pool: EvaluationPool, scorer: Scorer, folds: int) -> Ranks:
    """The ranks of all images and texts of a pool, each within its fold."""
    i2t, t2i = np.zeros(len(pool.images), np.int64), np.zeros(len(pool.texts), np.int64)
    for images, texts, image_of in _folds(pool, folds):
        part = ranks(scorer if folds == 1 else scorer.take(images, texts), image_of)
        i2t[images], t2i[texts] = part.i2t, part.t2i
    return Ranks(i2t, t2i)


def _scores(pool: EvaluationPool, scorer: Scorer, folds: int) -> RetrievalScores:
    if folds == 1:
        return metrics.scores(ranks(scorer, pool.image_of))
    return metrics.mean_scores(
        [
            metrics.scores(ranks(scorer.take(images, texts), image_of))
            for images, texts, image_of in _folds(pool, folds)
        ]
    )


def _folds(pool: EvaluationPool, folds: int) -> Iterator[tuple[slice, Ints, Ints]]:
    """Yield the images of each fold, their texts, and the place of each text's image in the fold."""
    size = len(pool.images) // folds
    for first in range(0, size * folds, size):
        texts = np.flatnonzero((pool.image_of >= first) & (pool.image_of < first + size))
        yield slice(first, first + size), texts, pool.image_of[texts] - first
