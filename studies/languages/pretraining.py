"""Pre-train the words of a recipe, without the training after it: loss and recall across languages on val, by epoch.

python -m studies pretraining la DATASET --name explore-0.05 pretraining.explore=0.05 pretraining.epochs=4
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.training.prepare import PRETRAINING_LOG, prepare
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from studies.arguments import add_device, add_out, make_parser
from studies.recipe_values import describe, keep_shipped, resolved, same_values, values_of
from studies.records import RUNS, Record, agrees, append, find, origin

STUDY = "pretraining"


def pretrained(recipe: str, dataset: Path, overrides: Sequence[str], device: str | None) -> list[Record]:
    """The log of a pre-training: a line per epoch, from the start on, and what the words have in common at the end."""
    read = load_recipe(recipe, overrides)
    if read.pretraining.name == "none":
        raise UserError(
            f"recipe {recipe} has no pre-training; choose one that has, such as la, hem, smalr or mule"
        )
    with tempfile.TemporaryDirectory() as folder:
        prepare(read, *open_with_features(dataset, read.data.features), Path(folder), choose_device(device))
        return [
            json.loads(line)
            for line in (Path(folder) / PRETRAINING_LOG).read_text(encoding="utf-8").splitlines()
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, pre-train unless there is a record, append it."""
    parser = make_parser(STUDY, __doc__)
    parser.add_argument("recipe")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--name", required=True, help="name of the row")
    add_out(parser, "results/languages")
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    name, values = f"{STUDY}/{args.name}", resolved(args.recipe, args.overrides)
    dataset_sha256 = Dataset.open(args.dataset).fingerprint
    record = find(args.out / RUNS, name)
    if record is None:
        record = {
            "name": name,
            "study": STUDY,
            "dataset": args.dataset.resolve().name,
            "dataset_sha256": dataset_sha256,
            "seed": values["training"]["seed"],
            **describe(args.recipe, values),
            "log": pretrained(args.recipe, args.dataset, args.overrides, args.device),
            **origin(),
        }
        keep_shipped(args.out, args.recipe)
        append(args.out / RUNS, record)
    elif not (
        same_values(values_of(record, args.out), values)
        and agrees(record, {"dataset_sha256": dataset_sha256})
    ):
        raise UserError(
            f"record {name} of {args.out / RUNS} has other data or values; choose another --name or --out"
        )
    recalls = ", ".join(f"{line['R@10']:.1f}" for line in record["log"] if "epoch" in line)
    print(f"{name}: R@10 across languages on val by epoch: {recalls}")


if __name__ == "__main__":
    main()
