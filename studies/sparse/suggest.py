"""Which pictures to annotate: those that `lingvis suggest` names against a random draw, with the same budget.

python -m studies suggest DATASET --recipe vsepp --seeds 0 1 2 training.sampling.least_steps=109

All captions of split train count as withheld; each way selects a share of its pictures, and a recipe learns from their
captions. The epoch is selected on val, and test is measured once. One record per way and seed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.files import write_text
from lingvis.suggestion.run import suggest
from lingvis.training.validate import load_recipe
from studies.arguments import add_device, add_out, make_parser
from studies.recipe import one_run
from studies.recipe_values import keep_shipped
from studies.records import RUNS, Record, append, find, origin
from studies.sparse.verdict import verdict

WAYS = ("suggest", "random")


def suggested(args: argparse.Namespace, seed: int) -> str:
    """The names of a share of the pictures that the recipe could learn from, one per line; no caption is used."""
    recipe = load_recipe(args.recipe, args.overrides)
    dataset = Dataset.open(args.dataset)
    able = set(dataset.captions("train", recipe.data.languages or dataset.languages).images)
    rows = [row.model_copy(update={"captions": {}}) for row in dataset.rows if row.image in able]
    bare = replace(dataset, rows=rows)
    features = args.features or recipe.data.features
    return suggest(
        bare, round(args.images * len(rows)), features=features, seed=seed, device=args.device
    ).lines()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, train what has no record, print the verdict."""
    parser = make_parser("suggest", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    add_out(parser, "results/sparse")
    parser.add_argument("--name", default="suggest", help="name of the records")
    parser.add_argument("--recipe", default="vsepp")
    parser.add_argument("--images", type=float, default=0.1, help="share of the pictures to annotate")
    parser.add_argument("--features", help="features by which pictures are similar; the recipe's by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--protocol", default="flickr8k-ml")
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    means: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in args.seeds:
            for way in WAYS:
                record = find(args.out / RUNS, f"{args.name}/{way}/{seed}")
                record = record or measure(args, way, seed, Path(scratch))
                means[way].append(record["test"]["A"])
    outcome = verdict(means["suggest"], means["random"])
    print(f"{outcome['verdict']}: margin {outcome['margin']:.2f}, spread {outcome['spread']:.2f}")


def measure(args: argparse.Namespace, way: str, seed: int, scratch: Path) -> Record:
    """Train one seed with the pictures of one way, and append its record."""
    file = scratch / f"{seed}.txt"
    if way == "suggest":
        write_text(file, suggested(args, seed))
    choice = {"suggest": f"data.annotated={file}", "random": f"data.images={args.images}"}[way]
    options = {**vars(args), "overrides": [*args.overrides, choice], "validation_only": False}
    run = one_run(argparse.Namespace(**options), seed, scratch / f"{way}-{seed}")
    if way == "suggest":
        run["overrides"]["data.annotated"] = "suggested"  # not the temporary file
    record = {
        "name": f"{args.name}/{way}/{seed}",
        "study": "suggest",
        "row": f"{args.name}/{way}",
        "images": args.images,
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": Dataset.open(args.dataset).fingerprint,
        "measure": "test mR, mean over languages",
        **run,
        **origin(),
    }
    keep_shipped(args.out, args.recipe)
    append(args.out / RUNS, record)
    return record


if __name__ == "__main__":
    main()
