"""A second model re-ranks the first 100 pictures of another one: recall before and after, and time.

python -m studies rerank DATASET --first RUN --second SCAN --split test

The first model ranks all pictures of the split for each caption. The first 100 are ordered again by the second model's
score alone, and by both models' scores, as `lingvis search --rerank` does. The time of a search is measured with the
first captions on a collection of the split's pictures.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lingvis
from lingvis.collection.rerank.second_model import SecondModel, joint_scores
from lingvis.data.dataset import Dataset
from lingvis.evaluation.evaluate import score_pools
from lingvis.evaluation.metrics import recalls
from lingvis.evaluation.scorers import Scorer
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import StoredImages
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

Floats = NDArray[np.float32]
ORDERS = ("first", "second", "both")
QUERIES = 200


def place(scores: Floats, own: int) -> int:
    """The place of a picture, from 0; ties count against it."""
    return int((scores >= scores[own]).sum()) - 1


def rank_query(first: Floats, second: Scorer, text: int, own: int) -> tuple[dict[str, int], float]:
    """The place of the caption's own picture in each order, and the seconds of the second model."""
    before = place(first, own)
    if before >= SecondModel.block:
        return dict.fromkeys(ORDERS, before), 0.0
    best = np.argsort(-first, kind="stable")[: SecondModel.block]
    if own not in best:  # a tie at the end of the hundred
        return dict.fromkeys(ORDERS, before), 0.0
    began = time.perf_counter()
    scores = second.block(best, np.array([text]))[:, 0].copy()
    seconds = time.perf_counter() - began
    at = int(np.flatnonzero(best == own)[0])
    together = joint_scores(first[best], scores)
    return {"first": before, "second": place(scores, at), "both": place(together, at)}, seconds


def search_times(
    dataset: Dataset, pictures: list[str], queries: list[str], args: argparse.Namespace
) -> dict[str, Any]:
    """Milliseconds of whole searches of a collection, without and with re-ranking; all pictures are cached."""
    with tempfile.TemporaryDirectory() as scratch:
        photos, place = Path(scratch) / "photos", Path(scratch) / "photos.lv"
        photos.mkdir()
        for number, name in enumerate(pictures):
            shutil.copyfile(dataset.images_dir / name, photos / f"{number}{Path(name).suffix}")
        collection = lingvis.Collection.create(place, args.first)
        collection.add([photos])
        second = SecondModel.load(args.second, cache=place / "rerank")
        began = time.perf_counter()
        for text in queries:
            collection.search(text, lang=args.lang, rerank=second)
        warm_up = time.perf_counter() - began
        times: dict[str, Any] = {"queries": len(queries), "first_pass_seconds": round(warm_up, 1)}
        for name, model in (("alone_ms", None), ("reranked_ms", second)):
            spent = []
            for text in queries:
                began = time.perf_counter()
                collection.search(text, lang=args.lang, rerank=model)
                spent.append(1000 * (time.perf_counter() - began))
            times[name] = {"p50": statistics.median(spent), "p95": float(np.percentile(spent, 95))}
    return times


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("rerank", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--first", type=Path, required=True)
    parser.add_argument("--second", type=Path, required=True)
    parser.add_argument("--split", default="val")
    parser.add_argument("--lang", default="en")
    add_out(parser, "results/rerank")
    args = parser.parse_args(arguments)
    dataset = Dataset.open(args.dataset)
    embedded = [
        score_pools(
            [StoredImages.open(Embedder.load(run), dataset)],
            dataset,
            split=args.split,
            languages=[args.lang],
        )
        for run in (args.first, args.second)
    ]
    (pool,), (first,), (second,) = embedded[0].pools, embedded[0].scorers, embedded[1].scorers
    scores = first.block(slice(None), slice(None)).T.copy()
    ranked = [rank_query(row, second, text, pool.image_of[text]) for text, row in enumerate(scores)]
    orders: dict[str, Any] = {
        name: recalls(np.array([places[name] for places, _ in ranked], np.int64)) for name in ORDERS
    }
    seconds = [spent for _, spent in ranked if spent]
    if not seconds:
        parser.error("no caption has its own picture among the first 100 of the first model")
    record = {
        "name": args.split,
        "study": "rerank",
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "split": args.split,
        "lang": args.lang,
        "pictures": len(pool.images),
        "captions": len(pool.texts),
        "models": {
            name: {
                "name": run.resolve().name,
                "recipe": ModelConfig.read(run).recipe["name"],
                "training": ModelConfig.read(run).training.model_dump(),
            }
            for name, run in (("first", args.first), ("second", args.second))
        },
        "top": SecondModel.block,
        "text_to_image": orders,
        "comparing_ms": {
            "p50": 1000 * statistics.median(seconds),
            "p95": 1000 * float(np.percentile(seconds, 95)),
        },
        "search": search_times(dataset, pool.images, pool.texts[:QUERIES], args),
        **origin(),
    }
    append(args.out / RUNS, record)
    print({name: {key: round(value, 1) for key, value in each.items()} for name, each in orders.items()})


if __name__ == "__main__":
    main()
