"""Train rows of the language tables, several runs at once on one GPU; a run that has a record is skipped.

python -m studies languages DATASET --out results/languages --at-once 6 --rows mule smalr 'embn-*'

Rows with machine translations need a dataset that has them (`lingvis data translate`) and are left out otherwise.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lingvis.data.dataset import Dataset
from studies.arguments import add_out, make_parser
from studies.languages.rows import ROWS, Row
from studies.recipe import run_name
from studies.records import RUNS, read

PROTOCOL, TRANSLATED_PROTOCOL = "flickr8k-ml", "flickr8k-ml-translated"


def run(row: Row, seed: int, args: argparse.Namespace, until: float, translated: Collection[str]) -> str:
    """Train and measure one seed of a row in a process of its own; return a line to print.

    translated: the languages that the dataset has machine translations in.
    """
    name = run_name(row.name, seed)
    missing = [lang for lang in row.translated if lang not in translated]
    if missing:
        return f"{name}: not started, {args.dataset} has no translated captions in {', '.join(missing)}"
    if time.monotonic() > until:
        return f"{name}: not started, the time is up"
    command = [sys.executable, "-m", "studies", "recipe", row.recipe, str(args.dataset)]
    command += [*row.overrides, *args.overrides]
    command += ["--protocol", TRANSLATED_PROTOCOL if row.translated else PROTOCOL]
    command += ["--out", str(args.out), "--name", row.name, "--seeds", str(seed)]
    command += ["--validation-only"] if row.val_only else []
    command += ["--keep", str(args.keep)] if row.keep and args.keep else []
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    last = (done.stderr if done.returncode else done.stdout).strip().splitlines()[-1:]
    return f"{name}: {time.monotonic() - began:.0f} s, exit {done.returncode}, {' '.join(last)[:300]}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse and train all runs that lack a record."""
    parser = make_parser("languages", __doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*", help="values for all rows, such as training.epochs=2")
    add_out(parser, "results/languages")
    parser.add_argument("--rows", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600, help="no run is started after this time")
    parser.add_argument(
        "--keep", type=Path, help="keep the model folders of rows that other studies need here"
    )
    args = parser.parse_intermixed_args(arguments)
    until = time.monotonic() + 60 * args.minutes
    names = dict.fromkeys(name for pattern in args.rows for name in fnmatch.filter(ROWS, pattern))
    translated = {
        lang for row in Dataset.open(args.dataset).rows if row.split == "train" for lang in row.translated
    }
    stored = {record["name"] for record in read(args.out / RUNS)}
    missing = [
        (ROWS[name], seed)
        for name in names
        for seed in ROWS[name].seeds
        if run_name(name, seed) not in stored
    ]
    with ThreadPoolExecutor(args.at_once) as pool:
        for line in pool.map(lambda each: run(each[0], each[1], args, until, translated), missing):
            print(line, flush=True)


if __name__ == "__main__":
    main()
