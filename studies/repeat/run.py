"""Train a recipe several times with one seed: when do the losses begin to differ, and how far apart are the results?

python -m studies repeat vse_infinity_region DATASET --times 3 --seed 0 [--deterministic] [section.key=value ...]

Causes are isolated by training again under other conditions, one record each: --deterministic (algorithms of torch
whose sums have a fixed order), --no-graphs, --float32, or values of the recipe with a --name. Trainings that are done
are kept in --work, so that a stopped command resumes.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.evaluation.run import evaluate
from lingvis.training.loop.log import read_log
from lingvis.training.loop.watch import LossRecord, LossWatch
from lingvis.training.run import train
from studies.arguments import add_device, add_out, make_parser
from studies.parallel import raise_failed, workers
from studies.recipe_values import describe, keep_shipped, resolved, selection
from studies.records import RUNS, Record, agrees, append, check_writable, find, origin

DONE = "repetitions.jsonl"  # finished trainings, in the working folder
STEPS = (1, 10, 100, 1000)  # at which the difference of the losses is recorded


@dataclass(frozen=True)
class Repetition:
    """One of several trainings with the same values and the same seed."""

    name: str
    recipe: str
    overrides: tuple[str, ...]
    dataset: Path
    deterministic: bool
    work: Path
    device: str | None

    def conditions(self) -> Record:
        """The fields that a finished training must agree with to be this one."""
        return {
            "values": resolved(self.recipe, self.overrides),
            "dataset_sha256": Dataset.open(self.dataset).fingerprint,
            "deterministic": self.deterministic,
        }

    def result(self) -> Record | None:
        """The numbers of this training; None if it is not done."""
        found = find(self.work / DONE, self.name)
        return found if found is not None and agrees(found, self.conditions()) else None

    def run(self) -> str:
        """Train from the beginning, since a resumed training is no equal one, and keep its numbers."""
        losses: list[float] = []
        with tempfile.TemporaryDirectory(dir=self.work) as scratch:
            folder = Path(scratch) / "run"
            with _kept(losses), _deterministic(self.deterministic) as unordered:
                config = train(
                    self.recipe, self.dataset, folder, overrides=self.overrides, device=self.device
                ).config
            validation = [[row["mR"], row["rsum"]] for row in read_log(folder) if row["kind"] == "val"]
            report = evaluate([folder], self.dataset, split="test", device=self.device)
        rsum = statistics.fmean(scores.rsum for scores in report.languages.values())
        numbers = {
            "losses": losses,
            "validation": validation,
            "best_epoch": config.training.best_epoch,
            "test_rsum": rsum,
            "seconds": config.training.seconds,
            "unordered": sorted(unordered),
        }
        append(self.work / DONE, {"name": self.name, **self.conditions(), **numbers})
        return f"{self.name}: test rsum {rsum:.1f}"


def compare(runs: Sequence[Record]) -> Record:
    """Return the differences between trainings that should be equal.

    first_difference: the first step, from 1, whose losses differ; None: none. loss_difference: by step, the largest
    difference of two losses, relative to the larger. unordered: operations without a deterministic algorithm.
    """
    losses = [run["losses"] for run in runs]
    shortest = min(map(len, losses))
    differing = (step for step in range(shortest) if len({each[step] for each in losses}) > 1)
    first = next(differing, None)
    return {
        "steps": shortest,
        "first_difference": None if first is None else first + 1,
        "loss_difference": {
            str(step): _relative([each[step - 1] for each in losses])
            for step in (*STEPS, shortest)
            if step <= shortest
        },
        "validation": [run["validation"] for run in runs],
        "best_epoch": [run["best_epoch"] for run in runs],
        "test_rsum": [run["test_rsum"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
        "unordered": sorted({name for run in runs for name in run["unordered"]}),
    }


def _relative(losses: Sequence[float]) -> float:
    return max(abs(a - b) / (max(abs(a), abs(b)) or 1.0) for a, b in combinations(losses, 2))


@contextlib.contextmanager
def _kept(losses: list[float]) -> Iterator[None]:
    """Keep the loss of every step of a training in this block, when the device reports it anyway."""
    flush = LossWatch.flush

    def kept(watch: LossWatch) -> list[LossRecord]:
        records = flush(watch)
        losses.extend(each.loss for each in records)
        return records

    with patch.object(LossWatch, "flush", kept):
        yield


@contextlib.contextmanager
def _deterministic(wanted: bool) -> Iterator[set[str]]:
    """Use deterministic algorithms in this block; yield the operations that have none, complete after the block."""
    unordered: set[str] = set()
    if not wanted:
        yield unordered
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield unordered
    finally:
        torch.use_deterministic_algorithms(False)
    messages = [str(warning.message).partition(" does not have a deterministic") for warning in caught]
    unordered |= {name for name, found, _ in messages if found}


def _overrides(args: argparse.Namespace) -> tuple[str, ...]:
    values = [*args.overrides, f"training.seed={args.seed}"]
    values += ["training.graphs=false"] if args.no_graphs else []
    return (*values, *(["training.precision=float32"] if args.float32 else []))


def _condition(args: argparse.Namespace) -> str:
    """The name of the conditions, from the switches unless it is given."""
    switches = {
        "deterministic": args.deterministic,
        "without graphs": args.no_graphs,
        "float32": args.float32,
    }
    return args.name or ", ".join(name for name, used in switches.items() if used) or "as shipped"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, train, compare, append the record."""
    parser = make_parser("repeat", __doc__)
    parser.add_argument("recipe")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deterministic", action="store_true", help="torch.use_deterministic_algorithms")
    parser.add_argument("--no-graphs", action="store_true", help="training.graphs=false")
    parser.add_argument("--float32", action="store_true", help="training.precision=float32")
    parser.add_argument("--name", help="name of the conditions, by default the switches that are used")
    parser.add_argument("--at-once", type=int, default=1, help="trainings at once, one process each")
    parser.add_argument("--work", type=Path, default=Path("runs/repeat"), help="runs/repeat by default")
    add_out(parser, "results/repeat")
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    if args.times < 2:
        raise UserError(f"--times is {args.times}; give 2 or more, since runs are compared")
    record = run_repeat(args)
    tests = ", ".join(f"{rsum:.1f}" for rsum in record["test_rsum"])
    print(f"{record['name']}: losses differ from step {record['first_difference']} on; test rsum {tests}")


def run_repeat(args: argparse.Namespace) -> Record:
    """Train what is not done, compare, and append the record."""
    row, overrides = _condition(args), _overrides(args)
    for folder in (args.out, args.work):
        check_writable(folder)
    name = f"{Path(args.recipe).stem}/{args.seed}/{row}"
    parts = [
        Repetition(
            f"{name}/{number}",
            args.recipe,
            overrides,
            args.dataset,
            args.deterministic,
            args.work,
            args.device,
        )
        for number in range(args.times)
    ]
    with workers(args.at_once) as run_all:
        raise_failed(run_all([part for part in parts if part.result() is None], "repeat"))
    runs = [found for part in parts if (found := part.result()) is not None]
    values = resolved(args.recipe, overrides)
    record: dict[str, Any] = {
        "name": name,
        "study": "repeat",
        "row": row,
        "seed": args.seed,
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": runs[0]["dataset_sha256"],
        "selection": selection(values, "test"),
        "deterministic": args.deterministic,
        **describe(args.recipe, values),
        **compare(runs),
        **origin(),
    }
    keep_shipped(args.out, args.recipe)
    append(args.out / RUNS, record)
    return record


if __name__ == "__main__":
    main()
