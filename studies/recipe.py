"""Train a recipe with several seeds, select on validation, report on test once, and keep the record.

python benchmarks/recipe.py vse_infinity_region DATASET --out results/flickr8k-ml --seeds 0 1 2 [section.key=value ...]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.evaluation.run import evaluate
from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.training.loop.log import read_log
from lingvis.training.run import train


def one_run(args: argparse.Namespace, seed: int, folder: Path) -> dict[str, Any]:
    config = train(
        args.recipe,
        args.dataset,
        folder,
        overrides=[*args.overrides, f"training.seed={seed}"],
        device=args.device,
    )
    epochs = [row for row in read_log(folder) if row["kind"] == "val"]
    record = {
        "seed": seed,
        "training": config.training.model_dump(),
        "parameters": config.parameters,
        "validation": [[row["epoch"], row["mR"], row["rsum"]] for row in epochs],
        "validation_languages": epochs[config.training.best_epoch - 1]["languages"],
        "resolved": config.recipe,
    }
    if not args.validation_only:
        report = evaluate(
            [folder], args.dataset, protocol=args.protocol, split="test", device=args.device
        ).as_json()
        record["test"] = {key: report[key] for key in ("protocol", "split", "languages", "A", "HA")}
    return record


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over seeds of what was selected on validation."""
    best = [max(row[2] for row in run["validation"]) for run in runs]
    found: dict[str, Any] = {"validation_rsum": _spread(best)}
    if "test" in runs[0]:
        for lang in runs[0]["test"]["languages"]:
            for key in ("rsum", "mR"):
                values = [run["test"]["languages"][lang][key] for run in runs]
                found[f"test_{lang}_{key}"] = _spread(values)
    found["ms_per_step"] = _spread(
        [1000 * run["training"]["seconds"] / run["training"]["steps"] for run in runs]
    )
    return found


def _spread(values: list[float]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.mean(values), "stdev": deviation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", help="file name of the record, the recipe's by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--device")
    parser.add_argument(
        "--validation-only", action="store_true", help="for choosing: the test split is not looked at"
    )
    parser.add_argument("--keep", type=Path, help="keep the model folders below this one")
    args = parser.parse_intermixed_args()
    name = args.name or Path(args.recipe).stem
    with tempfile.TemporaryDirectory() as scratch:
        folders = args.keep or Path(scratch)
        runs = [one_run(args, seed, folders / f"{name}-{seed}") for seed in args.seeds]
    record = {
        "recipe": args.recipe,
        "overrides": args.overrides,
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": Dataset.open(args.dataset).fingerprint,
        "lingvis": lingvis.__version__,
        "selection": "epoch of best mR on val, then test once",
        "hardware": describe_hardware(),
        "summary": summary(runs),
        "runs": runs,
    }
    write_json(args.out / f"{name}.json", record)
    print(name, json.dumps(record["summary"]))


if __name__ == "__main__":
    main()
