"""Arguments that the commands of studies share."""

from __future__ import annotations

import argparse
from pathlib import Path


def make_parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m studies NAME` whose help begins with the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m studies {name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_out(parser: argparse.ArgumentParser, default: str) -> None:
    """--out: the folder of runs.jsonl."""
    parser.add_argument(
        "--out", type=Path, default=Path(default), help=f"folder of runs.jsonl, {default} by default"
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """--device: cpu or cuda."""
    parser.add_argument("--device", help="cpu or cuda; a GPU is used when there is one")


def add_grid(parser: argparse.ArgumentParser, work: str) -> None:
    """Arguments of studies that train many runs."""
    parser.add_argument("dataset", type=Path, help="the dataset folder")
    parser.add_argument("overrides", nargs="*", help="values for all runs, such as training.epochs=5")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--work", type=Path, default=Path(work), help=f"folder of the models, {work} by default"
    )
    parser.add_argument("--at-once", type=int, default=1, help="runs to train at once, one process each")
    parser.add_argument("--json", action="store_true", help="print the records instead of tables")
    add_device(parser)
