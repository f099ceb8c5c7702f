"""What the transfer benchmark found: every run as CSV, the curves of the poster's Figure 3, a table of means."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.bench.transfer_cells import METHODS
from lingvis.files import atomic_file

Records = Sequence[dict[str, Any]]
DIRECTIONS = {"t2i": "text -> image", "i2t": "image -> text"}
RECALLS = ("R@1", "R@5", "R@10")
HEADER = ["method", "size", "seed", "direction", *RECALLS, "mR", "split"]


def to_csv(records: Records) -> str:
    """A row for each run and direction; size: the number of captions; mR: of both directions."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for record in records:
        found = record["result"]
        for direction in DIRECTIONS:
            recalls = [f"{found[direction][key]:.2f}" for key in RECALLS]
            own = [record["method"], record["learnt_from"], record["seed"], direction]
            writer.writerow([*own, *recalls, f"{found['mR']:.2f}", record["split"]])
    return text.getvalue()


def transfer_table(records: Records) -> tuple[list[str], list[list[str]]]:
    """Header and rows: mR of every method at every number of captions, mean ± standard deviation over seeds."""
    sizes = sorted({record["learnt_from"] for record in records})
    rows = []
    for method in _methods(records):
        cells = [
            [
                each["result"]["mR"]
                for each in records
                if (each["method"], each["learnt_from"]) == (method, size)
            ]
            for size in sizes
        ]
        rows.append([METHODS[method].label, *(_spread(cell) for cell in cells)])
    return ["mR", *(f"{size:,}" for size in sizes)], rows


def draw_curve(records: Records, path: Path) -> None:
    """Recall against captions: a row for each direction, a column for each recall, a band of one deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.6), layout="constrained")
    panels = figure.subplots(len(DIRECTIONS), len(RECALLS), sharex=True)
    first = records[0]
    for row, (direction, title) in zip(panels, DIRECTIONS.items(), strict=True):
        for axes, recall in zip(row, RECALLS, strict=True):
            for method in _methods(records):
                own = [each for each in records if each["method"] == method]
                sizes = sorted({each["learnt_from"] for each in own})
                values = [
                    [each["result"][direction][recall] for each in own if each["learnt_from"] == size]
                    for size in sizes
                ]
                mean = [statistics.mean(each) for each in values]
                spread = [statistics.stdev(each) if len(each) > 1 else 0.0 for each in values]
                (line,) = axes.plot(sizes, mean, marker="o", markersize=3, label=METHODS[method].label)
                low = [middle - width for middle, width in zip(mean, spread, strict=True)]
                high = [middle + width for middle, width in zip(mean, spread, strict=True)]
                axes.fill_between(sizes, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
            axes.set(xscale="log", title=f"{title}, {recall}", ylim=(0, None))
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel("recall, %")
    for axes in panels[-1]:
        axes.set_xlabel(f"{first['target']} training captions")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    seeds = len({record["seed"] for record in records})
    figure.suptitle(
        f"{first['source']} -> {first['target']}, split {first['split']}: mean and deviation of {seeds} seeds"
    )
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _methods(records: Records) -> list[str]:
    found = {record["method"] for record in records}
    return [method for method in METHODS if method in found]


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{deviation}"
