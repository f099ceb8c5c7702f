"""Train a recipe with several seeds, select the epoch on val, measure test once; one record per seed.

python -m studies recipe vse_infinity_region DATASET --out results/flickr8k-ml --seeds 0 1 2 [section.key=value ...]

Seeds that have a record are not trained again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.training.loop.log import read_log
from lingvis.training.prepare import PRETRAINING_LOG
from lingvis.training.run import train
from studies.arguments import add_device, make_parser
from studies.recipe_values import describe, keep_shipped, resolved, same_values, selection, values_of
from studies.records import RUNS, Record, agrees, append, find, origin


def one_run(args: argparse.Namespace, seed: int, folder: Path) -> Record:
    """Train one seed and return its numbers."""
    overrides = [*args.overrides, f"training.seed={seed}"]
    config = train(args.recipe, args.dataset, folder, overrides=overrides, device=args.device).config
    epochs = [row for row in read_log(folder) if row["kind"] == "val"]
    record = {
        "seed": seed,
        "selection": selection(config.recipe, "" if args.validation_only else "test"),
        **describe(args.recipe, config.recipe),
        "training": config.training.model_dump(),
        "parameters": config.parameters,
        "validation": [[row["epoch"], row["mR"], row["rsum"]] for row in epochs],
        "validation_languages": epochs[config.training.best_epoch - 1]["languages"],
        "learning_since": epochs[-1].get("learning_since"),
    }
    pretraining = folder / PRETRAINING_LOG
    if pretraining.exists():
        lines = pretraining.read_text(encoding="utf-8").splitlines()
        record["pretraining"] = [json.loads(line) for line in lines]
    if not args.validation_only:
        report = evaluate(
            [folder], args.dataset, protocol=args.protocol, split="test", device=args.device
        ).as_json()
        record["test"] = {key: report[key] for key in ("protocol", "split", "languages", "A", "HA")}
    return record


def stored_run(args: argparse.Namespace, row: str, seed: int, dataset_sha256: str) -> Record | None:
    """The record of an earlier call; one with other data or values is rejected."""
    record = find(args.out / RUNS, run_name(row, seed))
    if record is None:
        return None
    values = resolved(args.recipe, [*args.overrides, f"training.seed={seed}"])
    same = same_values(values_of(record, args.out), values)
    if not same or not agrees(record, {"dataset_sha256": dataset_sha256}):
        raise UserError(
            f"record {record['name']} of {args.out / RUNS} was measured with other data or values; choose another "
            "--out or --name, or delete its line"
        )
    return record


def run_name(row: str, seed: int) -> str:
    """The name of the record of one seed."""
    return f"{row}/{seed}"


def summary(runs: Sequence[Record]) -> dict[str, Any]:
    """Mean and standard deviation over seeds: rsum on val, and mR and rsum on test by language."""
    best = [max(row[2] for row in run["validation"]) for run in runs]
    numbers: dict[str, Any] = {"validation_rsum": _spread(best)}
    if "test" in runs[0]:
        for lang in runs[0]["test"]["languages"]:
            for key in ("rsum", "mR"):
                values = [run["test"]["languages"][lang][key] for run in runs]
                numbers[f"test_{lang}_{key}"] = _spread(values)
    numbers["ms_per_step"] = _spread(
        [1000 * run["training"]["seconds"] / run["training"]["steps"] for run in runs]
    )
    return numbers


def _spread(values: list[float]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.mean(values), "stdev": deviation}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, train the seeds without a record, print the summary."""
    parser = make_parser("recipe", __doc__)
    parser.add_argument("recipe")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--out", type=Path, required=True, help="folder of runs.jsonl")
    parser.add_argument("--name", help="name of the records, the recipe's by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--protocol", default="flickr8k-ml")
    parser.add_argument("--validation-only", action="store_true", help="for selection: test is not measured")
    parser.add_argument("--keep", type=Path, help="keep the model folders below this folder")
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    row = args.name or Path(args.recipe).stem
    dataset_sha256 = Dataset.open(args.dataset).fingerprint
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = args.keep or Path(scratch)
        for seed in args.seeds:
            record = stored_run(args, row, seed, dataset_sha256)
            if record is None:
                record = {
                    "name": run_name(row, seed),
                    "study": "recipe",
                    "row": row,
                    "dataset": args.dataset.resolve().name,
                    "dataset_sha256": dataset_sha256,
                    **one_run(args, seed, folders / f"{row}-{seed}"),
                    **origin(),
                }
                keep_shipped(args.out, args.recipe)
                append(args.out / RUNS, record)
            runs.append(record)
    print(row, json.dumps(summary(runs)))


if __name__ == "__main__":
    main()
