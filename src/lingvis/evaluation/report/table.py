"""The report of `evaluate` for people: a table on the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from lingvis.evaluation.metrics import RECALLS, RetrievalScores
from lingvis.evaluation.result import Report
from lingvis.printing import cell

COLUMNS = (
    "lang",
    "images",
    "captions",
    *(f"{way} {key}" for way in ("i2t", "t2i") for key in RECALLS),
    "mR",
    "rsum",
)
SINGLE = "single mR"
MARK = "*"
ZERO_SHOT = f"{MARK} zero-shot: no model was trained on this language"
MACHINE = "†"
TRANSLATED = f"{MACHINE} measured on machine translations"


def columns(report: Report) -> list[str]:
    """COLUMNS, and for translated queries the mR of the untranslated sentences."""
    return [*COLUMNS] if report.reading is None else [*COLUMNS, SINGLE]


def rows(report: Report) -> list[list[str]]:
    """One row per language; percent with one digit, as papers print them; marks: see `notes`."""
    return [
        [
            lang + MARK * scores.zero_shot + MACHINE * (scores.sentences == "translated"),
            f"{scores.images:,}",
            f"{scores.captions:,}",
            *(f"{direction[key]:.1f}" for direction in (scores.i2t, scores.t2i) for key in RECALLS),
            f"{scores.mR:.1f}",
            f"{scores.rsum:.1f}",
            *([] if report.reading is None else [_single(scores.single)]),
        ]
        for lang, scores in report.languages.items()
    ]


def _single(scores: RetrievalScores | None) -> str:
    return "" if scores is None else f"{scores.mR:.1f}"


def conditions(report: Report) -> str:
    """The conditions of the numbers: dataset, split, protocol and query method."""
    where = f"{report.dataset}, split {report.split}, protocol {report.protocol}"
    reading = report.reading
    if reading is None:
        return where
    if "translated_to" in reading:
        return f"{where}, queries translated to {reading['translated_to']} by {reading['translations']}"
    return (
        f"{where}, {reading['consistency']} consistency over {', '.join(reading['languages'])} "
        f"with translations by {reading['translations']}"
    )


def heading(report: Report) -> str:
    """The model and the conditions."""
    return f"{report.model} on {conditions(report)}"


def notes(report: Report) -> list[str]:
    """The meaning of the marks that languages have."""
    measured = report.languages.values()
    marks = {
        ZERO_SHOT: any(scores.zero_shot for scores in measured),
        TRANSLATED: any(scores.sentences == "translated" for scores in measured),
    }
    return [meaning for meaning, present in marks.items() if present]


def summary(report: Report) -> str:
    """The means over languages, the size of the model, the mark if there is one, and the tie rule, in one line."""
    means = {"A": report.A, "HA": report.HA}
    means |= {f"single {name}": value for name, value in (report.single or {}).items()}
    sizes = report.parameters
    parameters = (
        f"{sizes['total'] / 1e6:.1f} M parameters "
        f"(image {sizes['image'] / 1e6:.1f}, text {sizes['text'] / 1e6:.1f})"
    )
    shown = [f"{name} {value:.1f}" for name, value in means.items() if value is not None]
    return "; ".join([*shown, parameters, *notes(report), report.ties])


def table(report: Report) -> Table:
    """A table for the terminal; headings of two lines keep it within 80 columns."""
    shown = Table(title=cell(heading(report)), caption=cell(summary(report)), box=box.SIMPLE_HEAD, padding=0)
    for number, name in enumerate(columns(report)):
        shown.add_column(name.replace(" ", "\n"), justify="right" if number else "left", no_wrap=True)
    for row in rows(report):
        shown.add_row(*map(cell, row))
    return shown


def print_report(report: Report) -> None:
    """Print the table."""
    Console().print(table(report))
