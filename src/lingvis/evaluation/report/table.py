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
ALONE = "single mR"
MARK = "*"
ZERO_SHOT = f"{MARK} zero-shot: no model was trained on this language"


def columns(report: Mapping[str, Any]) -> list[str]:
    """COLUMNS, and the mR of the sentences alone where queries were read in another way."""
    return [*COLUMNS, ALONE] if "reading" in report else [*COLUMNS]


def rows(report: Mapping[str, Any]) -> list[list[str]]:
    """One row a language under the columns; percent with one digit, as papers print them; zero-shot ones marked."""
    return [
        [
            lang + MARK * found["zero_shot"],
            f"{found['images']:,}",
            f"{found['captions']:,}",
            *(f"{found[way][key]:.1f}" for way in DIRECTIONS for key in RECALLS),
            f"{found['mR']:.1f}",
            f"{found['rsum']:.1f}",
            *([_alone(found["single"])] if "reading" in report else []),
        ]
        for lang, found in report["languages"].items()
    ]


def _alone(single: Mapping[str, Any] | None) -> str:
    return "" if single is None else f"{single['mR']:.1f}"


def conditions(report: Mapping[str, Any]) -> str:
    """What was measured on and how: a number without this says nothing."""
    where = f"{report['dataset']}, split {report['split']}, protocol {report['protocol']}"
    reading = report.get("reading")
    if reading is None:
        return where
    if "translated_to" in reading:
        return f"{where}, queries translated to {reading['translated_to']} by {reading['translations']}"
    return (
        f"{where}, {reading['consistency']} consistency over {', '.join(reading['languages'])} "
        f"with translations by {reading['translations']}"
    )


def heading(report: Mapping[str, Any]) -> str:
    """The model and the conditions."""
    return f"{report['model']} on {conditions(report)}"


def notes(report: Mapping[str, Any]) -> list[str]:
    """What the mark means, where a language has it."""
    return [ZERO_SHOT] if any(found["zero_shot"] for found in report["languages"].values()) else []


def summary(report: Mapping[str, Any]) -> str:
    """The means over languages, the size of the model, the mark if there is one, and the tie rule, in one line."""
    means = [f"{name} {report[name]:.1f}" for name in ("A", "HA") if report[name] is not None]
    single = report.get("single", {})
    means += [f"single {name} {value:.1f}" for name, value in single.items() if value is not None]
    sizes = report["parameters"]
    parameters = (
        f"{sizes['total'] / 1e6:.1f} M parameters "
        f"(image {sizes['image'] / 1e6:.1f}, text {sizes['text'] / 1e6:.1f})"
    )
    return "; ".join([*means, parameters, *notes(report), report["ties"]])


def table(report: Mapping[str, Any]) -> Table:
    """A table for the terminal; headings of two lines keep it within 80 columns."""
    made = Table(title=heading(report), caption=summary(report), box=box.SIMPLE_HEAD, padding=0)
    for number, name in enumerate(columns(report)):
        made.add_column(name.replace(" ", "\n"), justify="right" if number else "left", no_wrap=True)
    for row in rows(report):
        made.add_row(*row)
    return made


def print_report(report: Mapping[str, Any]) -> None:
    """Print the table."""
    Console().print(table(report))
