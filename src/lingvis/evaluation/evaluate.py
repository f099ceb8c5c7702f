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
from lingvis.evaluation.clc.reading import Reading
from lingvis.evaluation.models import ImageSource, scorers
from lingvis.evaluation.pools import Pool, pools
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.ranks import TIE_RULE, ranks
from lingvis.evaluation.scorers import Scorer


@dataclass(frozen=True, slots=True)
class Embedded:
    """Pools and their scorers: what both the numbers and the example queries are made from."""

    models: Sequence[ImageSource]
    dataset: Dataset
    protocol: EvaluationProtocol
    split: str
    pools: list[Pool]
    scorers: list[Scorer]
    reading: Read | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """What a reading of the queries adds.

    languages: those that the queries of each pool are read in. alone: the scorer of the same sentences as they are,
    None where a model does not know the language.
    """

    description: dict[str, Any]
    languages: list[list[str]]
    alone: list[Scorer | None]


def embed(
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    reading: Reading | None = None,
) -> Embedded:
    """Embed what the protocol measures; several models are one ensemble (the mean of their scores).

    reading: queries with their translations, or translated; as they are without one.
    """
    if not models:
        raise UserError("no model to evaluate; give at least one run")
    chosen = find_protocol(protocol) if isinstance(protocol, str) else protocol
    where = chosen.split(split)
    made = pools(dataset, chosen, where, languages)
    if reading is None:
        return Embedded(models, dataset, chosen, where, made, scorers(models, made))
    found, read = _read(models, made, reading)
    return Embedded(models, dataset, chosen, where, made, found, read)


def _read(models: Sequence[ImageSource], made: Sequence[Pool], reading: Reading) -> tuple[list[Scorer], Read]:
    """Scorers of the plans and of the sentences alone, from one embedding of everything."""
    known = [pool for pool in made if all(pool.lang in source.model.languages for source in models)]
    plans = [reading.plan(pool) for pool in made]
    rest = iter(scorers(models, [*known, *(each for plan in plans for each in plan.pools)]))
    alone = {pool.lang: next(rest) for pool in known}
    found = [plan.scorer([next(rest) for _ in plan.pools]) for plan in plans]
    languages = [[pool.lang for pool in plan.pools] for plan in plans]
    return found, Read(reading.description, languages, [alone.get(pool.lang) for pool in made])


def measure(embedded: Embedded) -> dict[str, Any]:
    """The report: one JSON object with the numbers of every language."""
    protocol, models = embedded.protocol, [source.model for source in embedded.models]
    trained = {lang for model in models for lang in model.languages}
    read = embedded.reading
    read_in = [[pool.lang] for pool in embedded.pools] if read is None else read.languages
    languages = {
        pool.lang: {"zero_shot": trained.isdisjoint(langs), **_language(pool, scorer, protocol.folds)}
        for pool, scorer, langs in zip(embedded.pools, embedded.scorers, read_in, strict=True)
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
        **({} if read is None else _beside(embedded, read, languages)),
        "ties": TIE_RULE,
        "dataset_sha256": embedded.dataset.fingerprint,
        "lingvis": __version__,
    }


def _beside(embedded: Embedded, read: Read, languages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Put the numbers of the sentences alone beside those of each language, and their means into the report."""
    single: dict[str, dict[str, Any]] = {}
    for pool, scorer, read_in in zip(embedded.pools, read.alone, read.languages, strict=True):
        if scorer is not None:
            found = _language(pool, scorer, embedded.protocol.folds)
            single[pool.lang] = {key: found[key] for key in ("i2t", "t2i", "mR", "rsum")}
        languages[pool.lang] |= {"read_in": read_in, "single": single.get(pool.lang)}
    means = {
        "A": metrics.mean_over(single, single),
        "HA": metrics.mean_over(single, embedded.protocol.human),
    }
    return {"reading": read.description, "single": means}


def evaluate(
    models: Sequence[ImageSource],
    dataset: Dataset,
    *,
    protocol: str | EvaluationProtocol = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    reading: Reading | None = None,
) -> dict[str, Any]:
    """Embed and measure: `report["languages"]["de"]["mR"]`."""
    return measure(
        embed(models, dataset, protocol=protocol, split=split, languages=languages, reading=reading)
    )


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
