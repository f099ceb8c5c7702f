"""A comparison for people: one table on the terminal, runs by number."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from lingvis.evaluation.bootstrap import Interval
from lingvis.evaluation.comparison import Comparison
from lingvis.evaluation.report.table import MACHINE, TRANSLATED
from lingvis.printing import cell, print_line

MARK = "?"


def columns(comparison: Comparison) -> list[str]:
    """The language, chance, one column per run, and the difference of each run to the first."""
    numbers = [str(number) for number in range(1, len(comparison.runs) + 1)]
    return ["lang", "images", "chance", *numbers, *(f"{number} - 1" for number in numbers[1:])]


def rows(comparison: Comparison) -> list[list[str]]:
    """One row per language, then A; the difference with its interval, marked where it includes zero."""
    by_language = [
        [
            lang + MACHINE * (about.sentences == "translated"),
            f"{about.images:,}",
            f"{about.chance:.1f}",
            *(f"{run.languages[lang]:.1f}" for run in comparison.runs),
            *(_interval(difference.languages[lang]) for difference in comparison.differences),
        ]
        for lang, about in comparison.languages.items()
    ]
    mean = [
        "A",
        "",
        f"{comparison.chance:.1f}",
        *(f"{run.A:.1f}" for run in comparison.runs),
        *(_interval(difference.A) for difference in comparison.differences),
    ]
    return [*by_language, mean]


def _interval(value: Interval) -> str:
    mark = "" if value.decided else f"{MARK} "
    return f"{mark}{value.difference:+.1f} [{value.low:+.1f}, {value.high:+.1f}]"


def print_comparison(comparison: Comparison) -> None:
    """Print the runs with their numbers, the table, and a warning per run that the test set does not distinguish."""
    for number, run in enumerate(comparison.runs, start=1):
        print_line(f"{number}: {run.run}, {run.parameters / 1e6:.1f} M parameters")
    title = f"mR on {comparison.dataset}, split {comparison.split}, protocol {comparison.protocol}"
    table = Table(title=cell(title), box=box.SIMPLE_HEAD, padding=0, title_justify="left")
    for number, name in enumerate(columns(comparison)):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows(comparison):
        table.add_row(*map(cell, row))
    Console().print(table)
    print_line("[low, high]: 95 % of 2,000 paired samples of the pictures; chance: mR of a random order")
    if any(about.sentences == "translated" for about in comparison.languages.values()):
        print_line(TRANSLATED)
    for warning in comparison.warnings():
        print_line(f"{MARK} warning: {warning}")
