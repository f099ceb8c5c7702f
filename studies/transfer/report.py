"""Reports of the transfer study: all runs as CSV, the curves of the poster's Figure 3, a table of means."""

from __future__ import annotations

from pathlib import Path

from lingvis.files import atomic_file
from studies.grid_report import DIRECTIONS, RECALLS, Records, draw_line, mean_spread, to_csv
from studies.transfer.methods import METHODS


def transfer_csv(records: Records) -> str:
    """A row per run and direction; size: the number of captions."""
    return to_csv(records, {"method": "method", "size": "learnt_from", "seed": "seed"})


def transfer_table(records: Records) -> tuple[list[str], list[list[str]]]:
    """Head and rows: mR of every method at every number of captions, mean ± standard deviation over seeds."""
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
        rows.append([METHODS[method].label, *(mean_spread(cell) for cell in cells)])
    return ["mR", *(f"{size:,}" for size in sizes)], rows


def draw_curve(records: Records, path: Path) -> None:
    """Recall against captions: a row per direction, a column per recall, a band of one deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.6), layout="constrained")
    panels = figure.subplots(len(DIRECTIONS), len(RECALLS), sharex=True)
    first = records[0]
    for row, (direction, title) in zip(panels, DIRECTIONS.items(), strict=True):
        for axes, recall in zip(row, RECALLS, strict=True):
            for method in _methods(records):
                own = [each for each in records if each["method"] == method]
                sizes = sorted({each["learnt_from"] for each in own})
                points = {
                    size: [each["result"][direction][recall] for each in own if each["learnt_from"] == size]
                    for size in sizes
                }
                draw_line(axes, points, METHODS[method].label)
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
    present = {record["method"] for record in records}
    return [method for method in METHODS if method in present]
