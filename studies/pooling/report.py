"""The pooling study as a table, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path
from typing import Any

from lingvis.files import atomic_file
from studies.pooling.patterns import GROUPS, PATTERNS, SHOWN, true_coefficients


def pooling_table(result: dict[str, Any]) -> str:
    """The study as a Markdown table in the form of the paper's Table 6 (RMSE, lower is better)."""
    heads = [*(f"seen {p}" for p in PATTERNS), *(f"unseen {p}" for p in PATTERNS), "mean of all"]
    lines = ["| generator | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for label in result["designs"]:
        rows = {row["pattern"]: row for row in result["rows"] if row["design"] == label}
        numbers = [_short(rows[p]["seen"]["mean"]) for p in PATTERNS]
        numbers += [
            f"{_short(rows[p]['smaller']['mean'])} / {_short(rows[p]['larger']['mean'])}" for p in PATTERNS
        ]
        lines.append(f"| {label} | " + " | ".join([*numbers, _short(result["designs"][label]["all"])]) + " |")
    best = ", ".join(f"{label} ({group})" for group, label in result["best"].items())
    lines += [
        "",
        f"RMSE of the coefficients, mean of {len(result['seeds'])} seeds; unseen sizes: smaller / larger. "
        f"Lowest mean over the patterns: {best}.",
    ]
    return "\n".join(lines) + "\n"


def draw_study(result: dict[str, Any], path: Path) -> None:
    """A heat map in the form of Table 6, and the weights of one unseen size beside the true ones."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    labels = list(result["designs"])
    mean = {(row["design"], row["pattern"], g): row[g]["mean"] for row in result["rows"] for g in GROUPS}
    columns = [(group, pattern) for group in GROUPS for pattern in PATTERNS]
    figure = Figure(figsize=(13, 6.4), layout="constrained")
    parts = figure.add_gridspec(2, 1, height_ratios=[1.15, 1])
    top, bottom = figure.add_subfigure(parts[0]), figure.add_subfigure(parts[1])
    axes = top.add_subplot()
    grid = [[mean[label, pattern, group] for group, pattern in columns] for label in labels]
    shown = [[max(number, 1e-4) for number in row] for row in grid]
    axes.imshow(shown, norm=LogNorm(1e-3, 0.15), cmap="YlOrRd", aspect="auto", alpha=0.8)
    for x in range(len(columns)):
        lowest = min(row[x] for row in grid)
        for y, row in enumerate(grid):
            weight = "bold" if _short(row[x]) == _short(lowest) else "normal"
            colour = "white" if row[x] > 0.1 else "black"
            axes.text(x, y, _short(row[x]), ha="center", va="center", weight=weight, color=colour)
    names = [pattern for _, pattern in columns]
    axes.set_xticks(range(len(columns)), names)
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(length=0, top=True, labeltop=True, labelbottom=False)
    for at, (group, (low, high)) in enumerate(GROUPS.items()):
        kind = "seen sizes" if group == "seen" else f"unseen {group} sizes"
        axes.text(at * 5 + 2, len(labels) - 0.3, f"{kind} ({low} to {high})", ha="center", va="top")
        axes.axvline(at * 5 - 0.5, color="white", linewidth=6)
    axes.spines[:].set_visible(False)
    seeds = len(result["seeds"])
    axes.set_title(
        f"RMSE of the pooling coefficients, mean of {seeds} seeds (lower is better, lowest in bold)"
    )

    ranks = range(1, SHOWN + 1)
    panels = bottom.subplots(1, len(PATTERNS))
    for panel, pattern in zip(panels, PATTERNS, strict=True):
        panel.plot(ranks, true_coefficients(pattern, SHOWN), color="0.75", linewidth=7, label="true")
        for label, style in zip(labels, ("-", "-", "--", "-", ":"), strict=True):
            curve = result["shown"]["weights"][label][pattern]
            panel.plot(ranks, curve, style, linewidth=1.4, label=label)
        panel.set(title=pattern, xlabel="rank of the value", ylim=(-0.01, None))
        panel.set_xticks([1, 5, 10, 15])
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(0, 2 / SHOWN)
    panels[0].set_ylabel("weight")
    bottom.suptitle(f"weights for sets of {SHOWN}, smaller than any trained on (first seed)")
    handles, texts = panels[0].get_legend_handles_labels()
    bottom.legend(handles, texts, loc="outside lower center", ncols=len(texts), frameon=False)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)


def to_csv(result: dict[str, Any]) -> str:
    """One line per design, pattern and group of sizes: the mean RMSE and that of each seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["design", "pattern", "sizes", "rmse", *(f"seed {seed}" for seed in result["seeds"])])
    for row, group in product(result["rows"], GROUPS):
        numbers = [f"{number:.6f}" for number in (row[group]["mean"], *row[group]["seeds"])]
        writer.writerow([row["design"], row["pattern"], group, *numbers])
    return text.getvalue()


def _short(number: float) -> str:
    """Three decimals without the leading zero, as the paper prints them."""
    return f"{number:.3f}".lstrip("0")
