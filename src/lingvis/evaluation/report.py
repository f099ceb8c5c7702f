"""The report of `evaluate` for people: a table on the terminal."""

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
MARK = "*"
ZERO_SHOT = f"{MARK} zero-shot: no model was trained on this language"


def rows(report: Mapping[str, Any]) -> list[list[str]]:
    """One row a language under COLUMNS; percent with one digit, as papers print them; zero-shot ones marked."""
    return [
        [
            lang + MARK * found["zero_shot"],
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


def notes(report: Mapping[str, Any]) -> list[str]:
    """What the mark means, where a language has it."""
    return [ZERO_SHOT] if any(found["zero_shot"] for found in report["languages"].values()) else []


def summary(report: Mapping[str, Any]) -> str:
    """The means over languages, the size of the model, the mark if there is one, and the tie rule, in one line."""
    means = [f"{name} {report[name]:.1f}" for name in ("A", "HA") if report[name] is not None]
    sizes = report["parameters"]
    parameters = (
        f"{sizes['total'] / 1e6:.1f} M parameters "
        f"(image {sizes['image'] / 1e6:.1f}, text {sizes['text'] / 1e6:.1f})"
    )
    return "; ".join([*means, parameters, *notes(report), report["ties"]])


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
