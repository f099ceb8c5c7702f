"""What a second model makes of the first 100 pictures that another one finds: recall before and after, and its time.

python benchmarks/rerank.py DATASET --first RUN --second SCAN --split test --out results/rerank

The first model ranks all pictures of the split for each caption; the first 100 are ordered anew by the second model's
score alone, and by both models' scores together, as `lingvis search --rerank` does. What that takes a user is measured
by asking the first captions of a collection of the split's pictures.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
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
from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.model.embedder import Embedder
from lingvis.model.folder import ModelConfig
from lingvis.model.stored import StoredImages

Floats = NDArray[np.float32]
ORDERS = ("first", "second", "both")
QUESTIONS = 200


def place(scores: Floats, own: int) -> int:
    """The place of a picture, from 0; ties count against it."""
    return int((scores >= scores[own]).sum()) - 1


def question(first: Floats, second: Scorer, text: int, own: int) -> tuple[dict[str, int], float]:
    """The place of the caption's own picture in every order, and the seconds of the second model."""
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


def as_a_user(
    dataset: Dataset, pictures: list[str], questions: list[str], args: argparse.Namespace
) -> dict[str, Any]:
    """Milliseconds of whole searches of a collection, without and with re-ranking, every picture known already."""
    with tempfile.TemporaryDirectory() as scratch:
        photos, place = Path(scratch) / "photos", Path(scratch) / "photos.lv"
        photos.mkdir()
        for number, name in enumerate(pictures):
            (photos / f"{number}{Path(name).suffix}").symlink_to((dataset.images_dir / name).resolve())
        collection = lingvis.Collection.create(place, args.first)
        collection.add([photos])
        second = SecondModel.load(args.second, cache=place / "rerank")
        began = time.perf_counter()
        for text in questions:
            collection.search(text, lang=args.lang, rerank=second)
        warm_up = time.perf_counter() - began
        found: dict[str, Any] = {"questions": len(questions), "first_pass_seconds": round(warm_up, 1)}
        for name, model in (("alone_ms", None), ("reranked_ms", second)):
            spent = []
            for text in questions:
                began = time.perf_counter()
                collection.search(text, lang=args.lang, rerank=model)
                spent.append(1000 * (time.perf_counter() - began))
            found[name] = {"p50": statistics.median(spent), "p95": float(np.percentile(spent, 95))}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--first", type=Path, required=True)
    parser.add_argument("--second", type=Path, required=True)
    parser.add_argument("--split", default="val")
    parser.add_argument("--lang", default="en")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    dataset = Dataset.open(args.dataset)
    found = [
        score_pools(
            [StoredImages.open(Embedder.load(run), dataset)],
            dataset,
            split=args.split,
            languages=[args.lang],
        )
        for run in (args.first, args.second)
    ]
    (pool,), (first,), (second,) = found[0].pools, found[0].scorers, found[1].scorers
    scores = first.block(slice(None), slice(None)).T.copy()
    asked = [question(row, second, text, pool.image_of[text]) for text, row in enumerate(scores)]
    orders: dict[str, Any] = {
        name: recalls(np.array([places[name] for places, _ in asked], np.int64)) for name in ORDERS
    }
    seconds = [spent for _, spent in asked if spent]
    if not seconds:
        parser.error("no caption has its own picture among the first 100 of the first model")
    record = {
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
        "search": as_a_user(dataset, pool.images, pool.texts[:QUESTIONS], args),
        "lingvis": lingvis.__version__,
        "hardware": describe_hardware(),
    }
    write_json(args.out / f"{args.split}.json", record)
    print({name: {key: round(value, 1) for key, value in each.items()} for name, each in orders.items()})


if __name__ == "__main__":
    main()
