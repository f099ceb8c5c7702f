"""The report of `evaluate` for people: a table on the terminal, and the same in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from lingvis.evaluation.metrics import DIRECTIONS, RECALLS

COLUMNS = (
    "lang",
    "images",
    "captions",
    *(f"{way} {key}" for way in DIRECTIONS for key in RECALLS),
    "mR",
    "rsum",
)


def rows(report: Mapping[str, Any]) -> list[list[str]]:
    """One row a language under COLUMNS; percent with one digit, as papers print them."""
    return [
        [
            lang,
            f"{found['images']:,}",
            f"{found['captions']:,}",
            *(f"{found[way][key]:.1f}" for way in DIRECTIONS for key in RECALLS),
            f"{found['mR']:.1f}",
            f"{found['rsum']:.1f}",
        ]
        for lang, found in report["languages"].items()
    ]


def heading(report: Mapping[str, Any]) -> str:
    """What was measured on what: a number without this says nothing."""
    return f"{report['model']} on {report['dataset']}, split {report['split']}, protocol {report['protocol']}"


def summary(report: Mapping[str, Any]) -> str:
    """The means over languages, the size of the model and the tie rule, in one line."""
    means = [f"{name} {report[name]:.1f}" for name in ("A", "HA") if report[name] is not None]
    sizes = report["parameters"]
    parameters = (
        f"{sizes['total'] / 1e6:.1f} M parameters "
        f"(image {sizes['image'] / 1e6:.1f}, text {sizes['text'] / 1e6:.1f})"
    )
    return "; ".join([*means, parameters, report["ties"]])


def table(report: Mapping[str, Any]) -> Table:
    """A table for the terminal; headings of two lines keep it within 80 columns."""
    made = Table(title=heading(report), caption=summary(report), box=box.SIMPLE_HEAD, padding=0)
    for number, name in enumerate(COLUMNS):
        made.add_column(name.replace(" ", "\n"), justify="right" if number else "left", no_wrap=True)
    for row in rows(report):
        made.add_row(*row)
    return made


def print_report(report: Mapping[str, Any]) -> None:
    """Print the table."""
    Console().print(table(report))


def markdown(report: Mapping[str, Any]) -> str:
    """The same as a Markdown table with its heading and summary."""
    lines = [COLUMNS, ["---", *["--:"] * (len(COLUMNS) - 1)], *rows(report)]
    grid = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{heading(report)}\n\n{grid}\n\n{summary(report)}\n"
