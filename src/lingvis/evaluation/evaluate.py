"""Models on a dataset under a protocol -> the report that `lingvis evaluate --json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lingvis import __version__
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation import metrics
from lingvis.evaluation.models import MeasuredModel, scorers
from lingvis.evaluation.pools import Pool, pools
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.ranks import TIE_RULE, ranks
from lingvis.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class Embedded:
    """Pools and their scorers: what both the numbers and the example queries are made from."""

    models: Sequence[MeasuredModel]
    dataset: Dataset
    protocol: EvaluationProtocol
    split: str
    pools: list[Pool]
    scorers: list[Scorer]


def embed(
    models: Sequence[MeasuredModel],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
) -> Embedded:
    """Embed what the protocol measures; several models are one ensemble (the mean of their scores)."""
    if not models:
        raise UserError("no model to evaluate; give at least one run")
    chosen = find_protocol(protocol) if isinstance(protocol, str) else protocol
    where = chosen.split(split)
    made = pools(dataset, chosen, where, languages)
    return Embedded(models, dataset, chosen, where, made, scorers(models, made))


def measure(embedded: Embedded) -> dict[str, Any]:
    """The report: one JSON object with the numbers of every language."""
    protocol, models = embedded.protocol, embedded.models
    trained = {lang for model in models for lang in model.languages}
    languages = {
        pool.lang: {"zero_shot": pool.lang not in trained, **_language(pool, scorer, protocol.folds)}
        for pool, scorer in zip(embedded.pools, embedded.scorers, strict=True)
    }
    return {
        "model": " + ".join(model.name for model in models),
        "dataset": embedded.dataset.path.resolve().name,
        "split": embedded.split,
        "protocol": protocol.name,
        "parameters": {
            side: sum(model.parameters[side] for model in models) for side in ("image", "text", "total")
        },
        "languages": languages,
        "A": metrics.mean_over(languages, languages),
        "HA": metrics.mean_over(languages, protocol.human),
        "ties": TIE_RULE,
        "dataset_sha256": embedded.dataset.fingerprint,
        "lingvis": __version__,
    }


def evaluate(
    models: Sequence[MeasuredModel],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Embed and measure: `report["languages"]["de"]["mR"]`."""
    return measure(embed(models, dataset, protocol=protocol, split=split, languages=languages))


def _language(pool: Pool, scorer: Scorer, folds: int) -> dict[str, Any]:
    size = len(pool.images) // folds
    found = []
    by_chance = []
    for fold in range(folds):
        first = fold * size
        texts = np.flatnonzero((pool.image_of >= first) & (pool.image_of < first + size))
        image_of = pool.image_of[texts] - first
        part = scorer if folds == 1 else scorer.take(slice(first, first + size), texts)
        found.append(metrics.scores(ranks(part, image_of)))
        by_chance.append(metrics.chance(image_of))
    return {
        "images": len(pool.images),
        "captions": len(pool.texts),
        **(found[0] if folds == 1 else metrics.mean_scores(found)),
        "chance": float(np.mean(by_chance)),
    }
