"""Which pictures to annotate: those that `lingvis suggest` names against a random draw, at the same budget.

All captions of split train count as put away; a share of its pictures is chosen by either way and a recipe
learns from their captions. The best epoch is chosen on val, and the test split is looked at once.

python benchmarks/suggest.py DATASET --out results/sparse --recipe vsepp --seeds 0 1 2 training.sampling.least_steps=109
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.files import write_json, write_text
from lingvis.hardware import describe_hardware
from lingvis.suggestion.run import suggest
from lingvis.training.validate import load_recipe
from studies.recipe import one_run, summary


def suggested(args: argparse.Namespace, seed: int) -> str:
    """The names of a share of the pictures that the recipe could learn from, one a line, without any caption known."""
    recipe = load_recipe(args.recipe, args.overrides)
    dataset = Dataset.open(args.dataset)
    able = set(dataset.captions("train", recipe.data.languages or dataset.languages).images)
    rows = [row.model_copy(update={"captions": {}}) for row in dataset.rows if row.image in able]
    bare = replace(dataset, rows=rows)
    features = args.features or recipe.data.features
    return suggest(
        bare, round(args.images * len(rows)), features=features, seed=seed, device=args.device
    ).lines()


def verdict(chosen: list[float], drawn: list[float]) -> dict[str, Any]:
    """Whether one way is better by more than the larger standard deviation over seeds."""
    margin = statistics.mean(chosen) - statistics.mean(drawn)
    spread = max(statistics.stdev(each) if len(each) > 1 else 0.0 for each in (chosen, drawn))
    word = "no difference beyond the seeds' spread"
    if len(chosen) < 2:
        word = "none, one seed has no spread"
    elif abs(margin) > spread:
        word = "suggest is better" if margin > 0 else "random is better"
    return {"margin": margin, "spread": spread, "verdict": word}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="suggest", help="file name of the record")
    parser.add_argument("--recipe", default="vsepp")
    parser.add_argument("--images", type=float, default=0.1, help="share of the pictures to annotate")
    parser.add_argument("--features", help="features by which pictures are alike; the recipe's by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--device")
    args = parser.parse_intermixed_args()
    runs: dict[str, list[dict[str, Any]]] = {"suggest": [], "random": []}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in args.seeds:
            file = Path(scratch) / f"{seed}.txt"
            write_text(file, suggested(args, seed))
            ways = {"suggest": f"data.annotated={file}", "random": f"data.images={args.images}"}
            for way, value in ways.items():
                given = {**vars(args), "overrides": [*args.overrides, value], "validation_only": False}
                found = one_run(argparse.Namespace(**given), seed, Path(scratch) / f"{way}-{seed}")
                found["resolved"]["data"]["annotated"] = "suggested" if way == "suggest" else ""
                runs[way].append(found)
    mean = {way: [run["test"]["A"] for run in found] for way, found in runs.items()}
    record = {
        "recipe": args.recipe,
        "overrides": args.overrides,
        "images": args.images,
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": Dataset.open(args.dataset).fingerprint,
        "lingvis": lingvis.__version__,
        "selection": "epoch of best mR on val, then test once",
        "measure": "test mR, mean over languages",
        "hardware": describe_hardware(),
        **verdict(mean["suggest"], mean["random"]),
        "mR": mean,
        "summary": {way: summary(found) for way, found in runs.items()},
        "runs": runs,
    }
    write_json(args.out / f"{args.name}.json", record)
    print(f"{record['verdict']}: margin {record['margin']:.2f}, spread {record['spread']:.2f}")


if __name__ == "__main__":
    main()
