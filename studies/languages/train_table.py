"""Train rows of the language tables, several at once on one GPU; a row whose record exists is left alone.

python benchmarks/table.py DATASET --out results/languages --at-once 6 --rows mule smalr 'embn-*'
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from studies.languages.rows import ROWS, Row

RECIPE = Path(__file__).with_name("recipe.py")


def run(row: Row, args: argparse.Namespace) -> str:
    """Train and measure one row in a process of its own."""
    if time.monotonic() > args.until:
        return f"{row.name}: not started, the time is up"
    command = [sys.executable, str(RECIPE), row.recipe, str(args.dataset), *row.overrides, *args.overrides]
    command += ["--out", str(args.out), "--name", row.name, "--seeds", *map(str, row.seeds)]
    command += ["--validation-only"] if row.val_only else []
    command += ["--keep", str(args.keep)] if row.keep and args.keep else []
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    last = (done.stderr if done.returncode else done.stdout).strip().splitlines()[-1:]
    return f"{row.name}: {time.monotonic() - began:.0f} s, exit {done.returncode}, {' '.join(last)[:300]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*", help="values for all rows, such as training.epochs=2")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600, help="no row is started after this time")
    parser.add_argument("--keep", type=Path, help="keep model folders of rows that ask for it below this one")
    args = parser.parse_intermixed_args()
    args.until = time.monotonic() + 60 * args.minutes
    names = dict.fromkeys(name for pattern in args.rows for name in fnmatch.filter(ROWS, pattern))
    wanted = [ROWS[name] for name in names if not (args.out / f"{name}.json").exists()]
    with ThreadPoolExecutor(args.at_once) as pool:
        for line in pool.map(lambda row: run(row, args), wanted):
            print(line, flush=True)


if __name__ == "__main__":
    main()
