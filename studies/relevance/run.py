"""Honest answers of a model: languages of short queries, and how many queries marked "strong" have the right picture first.

python -m studies relevance DATASET --run lingvis-base --split test

The calibration and the known words are those of the model folder (`lingvis calibrate`), which are fitted on split val and
collected from split train. Each query is searched among all pictures of the split and among random collections of them.
Right pictures are judged by captions, see lingvis/relevance/judgements.py: a first hit whose captions do not mention the
thing counts as not right here, although it may be in the picture; first hits that captions do not decide are counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.model.embedder import Embedder
from lingvis.pretrained import find_model
from lingvis.relevance.calibration import Calibration
from lingvis.relevance.judgements import Trial, try_queries
from lingvis.relevance.known_words import KnownWords
from lingvis.relevance.run import JudgedSplit
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, append, check_writable, origin
from studies.relevance.languages import measure_languages
from studies.relevance.report import confidence_table, language_table

SIZES = (50, 200, 1000)
LEVELS = ("strong", "likely", "weak")


def measure_confidence(
    model: Embedder, calibration: Calibration, dataset: Dataset, split: str
) -> list[dict[str, Any]]:
    """A row per size of the collection, language (and all) and kind of query."""
    judged = JudgedSplit.of(model, dataset, split)
    rows = []
    for size in SIZES:
        trials = list(try_queries(judged.queries, judged.text_emb, judged.image_emb, size=size, k=1))
        for lang in ("all", *dict.fromkeys(query.lang for query in judged.queries)):
            for kind in ("name", "sentence"):
                chosen = [
                    trial
                    for trial in trials
                    if trial.query.kind == kind and lang in ("all", trial.query.lang)
                ]
                rows.append({"size": size, "lang": lang, "kind": kind, **_counts(chosen, calibration)})
    return rows


def _counts(trials: Iterable[Trial], calibration: Calibration) -> dict[str, dict[str, int]]:
    """Numbers of queries per level: with a right picture, of these with it first, or with a first hit that captions do
    not decide, and without a right picture."""
    counts = {name: dict.fromkeys(LEVELS, 0) for name in ("answerable", "right_first", "undecided", "absent")}
    for trial in trials:
        level = calibration.confidence(trial.scores[0], trial.pictures, trial.spread)
        counts["answerable" if trial.query.answerable else "absent"][level] += 1
        counts["right_first"][level] += trial.judged[0] is True
        counts["undecided"][level] += trial.query.answerable and trial.judged[0] is None
    return counts


def measure_relevance(run: Path, dataset: Path, *, split: str, device: str | None = None) -> dict[str, Any]:
    """The record of one model on one split."""
    began = time.perf_counter()
    folder, opened = find_model(run), Dataset.open(dataset)
    calibration, known = Calibration.read(folder), KnownWords.read(folder)
    if calibration is None or known is None:
        raise UserError(f"{folder} is not calibrated; run: lingvis calibrate {folder} {dataset}")
    if calibration.source.split == split:
        raise UserError(f"{folder} was calibrated on split {split}; measure another one")
    model = Embedder.load(folder, device=device)
    return {
        "name": f"{model.name}-{split}",
        "study": "relevance",
        "model": model.name,
        "dataset": opened.path.resolve().name,
        "dataset_sha256": opened.fingerprint,
        "split": split,
        "calibration": calibration.model_dump(mode="json"),
        "known_words": len(known),
        "languages": measure_languages(opened, known, split),
        "confidence": measure_confidence(model, calibration, opened, split),
        "seconds": round(time.perf_counter() - began, 1),
        **origin(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record, print the tables."""
    parser = make_parser("relevance", __doc__)
    parser.add_argument("dataset", type=Path, help="a dataset folder")
    parser.add_argument(
        "--run", type=Path, required=True, help="the calibrated model folder, or lingvis-base"
    )
    parser.add_argument("--split", default="test")
    add_out(parser, "results/relevance")
    add_device(parser)
    args = parser.parse_args(arguments)
    check_writable(args.out)
    record = measure_relevance(args.run, args.dataset, split=args.split, device=args.device)
    append(args.out / RUNS, record)
    print(language_table(record), confidence_table(record), sep="\n\n")


if __name__ == "__main__":
    main()
