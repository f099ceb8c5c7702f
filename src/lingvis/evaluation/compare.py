"""Compare trained models on one dataset: `lingvis.compare`, `lingvis compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lingvis import __version__
from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, check_list
from lingvis.evaluation import metrics
from lingvis.evaluation.bootstrap import Interval, interval, picture_weights, resampled_scores
from lingvis.evaluation.comparison import ComparedLanguage, ComparedRun, Comparison, RunDifference
from lingvis.evaluation.evaluate import pool_chance, pool_ranks
from lingvis.evaluation.models import ImageSource, scorers
from lingvis.evaluation.pools import EvaluationPool, pools
from lingvis.evaluation.protocols import EvaluationProtocol, find_protocol
from lingvis.evaluation.run import measured_languages
from lingvis.features.store import without_broken
from lingvis.model.embedder import Embedder
from lingvis.model.encoder import with_torch
from lingvis.model.stored import StoredImages
from lingvis.progress import ProgressBar


def compare(
    models: Sequence[Embedder | Path | str],
    dataset: Dataset | Path | str,
    *,
    protocol: str = "all",
    split: str | None = None,
    languages: Sequence[str] | None = None,
    device: str | None = None,
) -> Comparison:
    """Measure several models on the same pictures, and the difference of each to the first.

    models: two or more model folders, names or opened models. Differences have intervals of 95 % by a paired bootstrap
    over pictures. languages: by default those of the split that all models were trained on. protocol, split and device:
    as for `evaluate`.
    """
    check_list("models", models, "model folders")
    check_list("languages", languages, "languages")
    if len(models) < 2:
        raise UserError(f"models must be at least two to compare, got {len(models)}; `evaluate` measures one")
    paths = [str(model) for model in models if not isinstance(model, Embedder)]
    if len(set(paths)) < len(paths):
        raise UserError(f"models must be different, got {', '.join(paths)}; name each once")
    chosen = find_protocol(protocol)
    chosen_split = chosen.split(split)
    whole = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    opened = [StoredImages.open(with_torch(model, device), whole) for model in models]
    usable = without_broken(whole, [each.store for each in opened])
    return compare_models(
        {
            _name(model, number): source
            for number, (model, source) in enumerate(zip(models, opened, strict=True), 1)
        },
        usable,
        protocol=chosen,
        split=chosen_split,
        languages=languages or measured_languages(opened, usable, chosen, chosen_split),
    )


def compare_models(
    models: Mapping[str, ImageSource],
    dataset: Dataset,
    *,
    protocol: EvaluationProtocol,
    split: str,
    languages: Sequence[str],
) -> Comparison:
    """Encode the pool once per model, by name, and compare all with the first."""
    measured = pools(dataset, protocol, split, languages)
    weights = _weights(measured)
    runs: list[ComparedRun] = []
    samples: list[dict[str, Floats]] = []
    with ProgressBar("compare", len(models) * len(measured)) as bar:
        for name, source in models.items():
            scores, run_samples = {}, {}
            for pool, scorer in zip(measured, scorers([source], measured), strict=True):
                ranks = pool_ranks(pool, scorer, protocol.folds)
                scores[pool.lang] = metrics.scores(ranks).mR
                run_samples[pool.lang] = resampled_scores(ranks, pool.image_of, weights[pool.lang])
                bar.advance(1, name)
            mean = sum(scores.values()) / len(scores)
            parameters = source.model.parameters["total"]
            runs.append(ComparedRun(run=name, parameters=parameters, languages=scores, A=mean))
            samples.append(run_samples)
    return Comparison(
        dataset=dataset.path.resolve().name,
        split=split,
        protocol=protocol.name,
        languages={pool.lang: _language(pool, protocol.folds) for pool in measured},
        runs=runs,
        differences=[
            _difference(run, runs[0], run_samples, samples[0])
            for run, run_samples in zip(runs[1:], samples[1:], strict=True)
        ],
        dataset_sha256=dataset.fingerprint,
        lingvis=__version__,
    )


def _name(model: Embedder | Path | str, number: int) -> str:
    """The name that the caller used; an opened model may share its name with another."""
    return f"{model.name} ({number})" if isinstance(model, Embedder) else str(model)


def _weights(measured: Sequence[EvaluationPool]) -> dict[str, Floats]:
    """The samples of each pool [samples, images]: a picture is drawn equally often in all languages."""
    names = list(dict.fromkeys(name for pool in measured for name in pool.images))
    drawn = picture_weights(len(names))
    place = {name: number for number, name in enumerate(names)}
    return {pool.lang: drawn[:, [place[name] for name in pool.images]] for pool in measured}


def _language(pool: EvaluationPool, folds: int) -> ComparedLanguage:
    return ComparedLanguage(
        images=len(pool.images),
        captions=len(pool.texts),
        sentences=pool.source,
        chance=pool_chance(pool, folds),
    )


def _difference(
    run: ComparedRun, first: ComparedRun, samples: dict[str, Floats], first_samples: dict[str, Floats]
) -> RunDifference:
    by_language: dict[str, Interval] = {}
    gaps = {lang: samples[lang] - first_samples[lang] for lang in samples}
    for lang, gap in gaps.items():
        by_language[lang] = interval(run.languages[lang] - first.languages[lang], gap)
    mean = np.asarray(np.mean(list(gaps.values()), axis=0), dtype=np.float32)
    return RunDifference(run=run.run, languages=by_language, A=interval(run.A - first.A, mean))
