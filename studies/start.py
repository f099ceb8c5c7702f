"""Recipes for a few hundred pictures on a CPU: train each on a part of a dataset, select on val, compare on test once.

python -m studies start DATASET --train 500 --languages en de cs
python -m studies start PHOTOS --languages en de zh --candidates start --models lingvis-base

The dataset needs the features of the candidates and of the models. Models are measured as they are: one that was
trained on the dataset has seen its training pictures, so that only other data is fair to compare it on.
"""

from __future__ import annotations

import random
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset, write_rows
from lingvis.evaluation.compare import compare
from lingvis.model.folder import ModelConfig, is_model_folder
from lingvis.training.run import train
from studies.arguments import add_out, make_parser
from studies.recipe_values import describe, keep_shipped
from studies.records import RUNS, append, origin

CANDIDATES: dict[str, tuple[str, ...]] = {
    "start": ("start",),
    "start-grid": (
        "start",
        "data.features=efficientnet-lite0-grid",
        'image.augment={name="drop", p=0.2}',
        "image.pooling.name=gpo",
    ),
    "demo": ("demo", "training.epochs=20"),
    "vsepp-256": (
        "vsepp",
        "data.languages=[]",
        "text.tokenizer.min_count=1",
        "image.encoder.dim=256",
        "text.encoder.dim=256",
        "optimizer.lr=0.002",
        "training.epochs=10",
    ),
}


def make_part(dataset: Dataset, folder: Path, *, train: int, val: int, languages: Sequence[str]) -> Path:
    """A dataset with some pictures of train and val, all of test, and some languages; features are linked."""
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    (folder / "images").symlink_to(dataset.images_dir.resolve())
    (folder / "features").symlink_to(dataset.features_dir.resolve())
    draws = random.Random(0)
    rows = [row for row in dataset.rows if all(row.captions.get(lang) for lang in languages)]
    by_split = {split: [row for row in rows if row.split == split] for split in ("train", "val", "test")}
    chosen = [
        *draws.sample(by_split["train"], min(train, len(by_split["train"]))),
        *draws.sample(by_split["val"], min(val, len(by_split["val"]))),
        *by_split["test"],
    ]
    kept = [
        row.model_copy(update={"captions": {lang: row.captions[lang] for lang in languages}, "parallel": {}})
        for row in chosen
    ]
    write_rows(folder / "captions.jsonl", kept)
    return folder


def train_candidate(name: str, part: Path, folder: Path) -> dict[str, Any]:
    """Train a candidate unless that is done; its values, times and validation."""
    recipe, *overrides = CANDIDATES[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    trained_now = not is_model_folder(folder)
    if trained_now:
        train(recipe, part, folder, overrides=overrides, device="cpu")
    seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    config = ModelConfig.read(folder)
    return {
        **describe(recipe, config.recipe),
        "training": config.training.model_dump(),
        "cpu_seconds": round(seconds, 1) if trained_now else None,
        "parameters": config.parameters,
        "validation_mR": config.training.validation_mR,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the candidates, then measure test once for all of them and for the models."""
    parser = make_parser("start", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--train", type=int, default=500, help="pictures to train on")
    parser.add_argument("--val", type=int, default=200, help="pictures to select the epoch on")
    parser.add_argument("--languages", nargs="+", required=True)
    parser.add_argument("--candidates", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    parser.add_argument("--models", nargs="*", default=[], help="trained models, measured as they are")
    parser.add_argument("--work", type=Path, default=Path("runs/start"), help="folder of part and models")
    add_out(parser, "results/start")
    args = parser.parse_args(arguments)
    dataset = Dataset.open(args.dataset)
    row = f"{dataset.path.resolve().name}-{args.train}"
    part = make_part(
        dataset, args.work / row / "data", train=args.train, val=args.val, languages=args.languages
    )
    folders = {name: args.work / row / name for name in args.candidates}
    trained = {name: train_candidate(name, part, folder) for name, folder in folders.items()}
    report = compare([*folders.values(), *args.models], part, split="test", device="cpu").as_json()
    for name, run, difference in zip(
        [*folders, *args.models], report["runs"], [None, *report["differences"]], strict=True
    ):
        about = trained.get(name, {})
        if about:
            keep_shipped(args.out, CANDIDATES[name][0])
        record = {
            "name": f"{row}/{name}",
            "study": "start",
            "row": name,
            "dataset": row,
            "dataset_sha256": report["dataset_sha256"],
            "selection": "epoch of best mR on val, then test once",
            "seed": 0,
            **about,
            "test": {"languages": run["languages"], "A": run["A"], "chance": report["chance"]},
            "against": None if difference is None else folders[args.candidates[0]].name,
            "difference": None if difference is None else difference["A"],
            **origin(),
        }
        append(args.out / RUNS, record)
        print(f"{record['name']}: test A {run['A']:.1f}, {about.get('cpu_seconds')} s of CPU", flush=True)


if __name__ == "__main__":
    main()
