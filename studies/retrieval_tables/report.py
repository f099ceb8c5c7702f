"""Records -> the tables of the supplement, beside the paper's differences, and the learned weights of pooling."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lingvis.evaluation.report.coefficients import PICTURES, SENTENCES, plot_side
from studies.records import Record
from studies.retrieval_tables.methods import Row, Table
from studies.tables.markdown import spread

SHOWN = [(side, key) for side in ("i2t", "t2i") for key in ("R@1", "R@5")]
NUMBERS = (
    *(f"{side} {key}" for side, key in SHOWN),
    "sum of the four",
    "difference",
    "in the paper",
    "agrees",
    "rsum",
)
CLEAR = 2  # standard errors
AGREEMENT = {
    "yes": "with the same sign here",
    "no": "with the other sign here",
    "not clear": "within two standard errors of zero here",
}
DRAWN = ("region", "grid")  # variants whose weights are drawn
Runs = Callable[[str], Sequence[Record]]  # the records of a variant, one per seed


def table_rows(table: Table, runs: Runs) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table; rows without a record are left out."""
    rows = [[*row.words, *_numbers(table, row, runs)] for row in table.rows if runs(row.variant)]
    return [*table.columns, *NUMBERS], rows


def reading(table: Table, runs: Runs) -> str:
    """How many of the paper's differences are found again, as a sentence; empty without records."""
    words = Counter(word for row in table.rows if (word := _agreement(table, row, runs)))
    parts = [f"{words[word]} {meaning}" for word, meaning in AGREEMENT.items() if words[word]]
    plural = "difference" if words.total() == 1 else "differences"
    return f"Of {words.total()} {plural} of the paper: {', '.join(parts)}." if parts else ""


def draw_weights(figure: Any, runs: Runs) -> bool:
    """Draw the weights of the variants with GPO on both sides, all seeds; return whether there are any."""
    found = {
        variant: [run["coefficients"] for run in runs(variant) if run["coefficients"]] for variant in DRAWN
    }
    found = {variant: models for variant, models in found.items() if models}
    if not found:
        return False
    grid = figure.subplots(len(found), 2, squeeze=False)
    for line, (variant, models) in zip(grid, found.items(), strict=True):
        for axes, side in zip(line, (PICTURES, SENTENCES), strict=True):
            plot_side(axes, [model[side] for model in models], title=f"vse_infinity_{variant}, {side}")
    return True


def _numbers(table: Table, row: Row, runs: Runs) -> list[str]:
    results = [run["result"] for run in runs(row.variant)]
    recalls = [statistics.mean(result[side][key] for result in results) for side, key in SHOWN]
    ours, paper = _difference(row, runs), table.paper_difference(row)
    return [
        *(f"{recall:.1f}" for recall in recalls),
        spread(_sums(row.variant, runs)),
        "" if ours is None else f"{ours[0]:+.1f}{'' if ours[1] is None else f' ± {ours[1]:.1f}'}",
        "" if paper is None else f"{paper:+.1f}",
        _agreement(table, row, runs),
        f"{statistics.mean(result['rsum'] for result in results):.1f}",
    ]


def _sums(variant: str, runs: Runs) -> list[float]:
    """The sum of the four recalls, for each seed."""
    return [sum(run["result"][side][key] for side, key in SHOWN) for run in runs(variant)]


def _difference(row: Row, runs: Runs) -> tuple[float, float | None] | None:
    """Difference of the means to the row that it is compared with, and its standard error; None if one is missing."""
    own, other = _sums(row.variant, runs), _sums(row.against, runs)
    if not own or not other:
        return None
    margin = statistics.mean(own) - statistics.mean(other)
    if min(len(own), len(other)) < 2:
        return margin, None
    return margin, sum(statistics.variance(each) / len(each) for each in (own, other)) ** 0.5


def _agreement(table: Table, row: Row, runs: Runs) -> str:
    """Whether a difference of the paper is found again, a key of AGREEMENT; empty if one of both is missing."""
    ours, paper = _difference(row, runs), table.paper_difference(row)
    if ours is None or paper is None or ours[1] is None:
        return ""
    if abs(ours[0]) <= CLEAR * ours[1]:
        return "not clear"
    return "yes" if ours[0] * paper > 0 else "no"
