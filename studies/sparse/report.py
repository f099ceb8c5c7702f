"""Reports of the sparse-annotation study: all runs as CSV, A3VSE's Figure 1 and Tables 1 and 5, trials on val."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lingvis.files import atomic_file
from studies.grid_report import DIRECTIONS, RECALLS, Records, draw_line, mean_spread, to_csv
from studies.method import Method
from studies.sparse.forms import FORMS
from studies.sparse.methods import ABLATED, ABLATIONS, METHODS, SYSTEMS, TAGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (11, 5)  # of the figure, inches
PANELS = {"R@10, text -> image": ("t2i", "R@10"), "mR": ("mR",)}
Table = tuple[list[str], list[list[str]]]


def sparse_csv(records: Records) -> str:
    """A row per run and direction; images: the annotated share, per_image: captions each (0: all)."""
    return to_csv(records, {key: key for key in ("method", "images", "per_image", "pairs", "seed")})


def sparse_table(records: Records) -> Table:
    """Table 1 as mR: a row per sparsity, a column per method; mean ± standard deviation over seeds.

    Ablations that were measured at other sparsities than ABLATED have a column, too.
    """
    methods = {name: method for name, method in _present(records, METHODS).items() if name != TAGS}
    elsewhere = [each for each in records if (each["images"], each["per_image"]) != ABLATED]
    for name, method in _present(elsewhere, ABLATIONS).items():
        methods[name] = Method(f"A3VSE, {method.label}", method.recipe)
    rows = []
    for (share, count), pairs in _pairs(records).items():
        own = [each for each in records if (each["images"], each["per_image"]) == (share, count)]
        values = [[each["result"]["mR"] for each in own if each["method"] == name] for name in methods]
        rows.append([f"{share:.0%}", str(count or "all"), f"{pairs:,}", *map(mean_spread, values)])
    tags = next((each for each in records if each["method"] == TAGS), None)
    if tags is not None:
        label, value = _tags_and_ties(tags)
        rows = [[*row, value] for row in rows or [["0%", "0", "0"]]]
        methods[TAGS] = Method(label, "")
    return ["images", "captions each", "pairs", *(method.label for method in methods.values())], rows


def _tags_and_ties(record: Mapping[str, Any]) -> tuple[str, str]:
    """Head and number of s_g with its rule of ties; most pictures have no tag of a sentence, and all of these tie."""
    label, value = f"{METHODS[TAGS].label}, ties count against it", f"{record['result']['mR']:.1f}"
    if "random_ties" not in record:  # records before November 2026
        return label, value
    return f"{label} (broken at random)", f"{value} ({record['random_ties']['mR']:.1f})"


def trial_table(records: Records) -> Table:
    """A row per form, a column per sparsity: mR on val with the best epoch in brackets; one seed."""
    sparsities = sorted({(each["images"], each["per_image"]) for each in records})
    rows = []
    for name in (name for name in SYSTEMS if any(each["method"] == name for each in records)):
        cells = []
        for sparsity in sparsities:
            own = [each for each in records if (each["images"], each["per_image"]) == sparsity]
            runs = [each for each in own if each["method"] == name]
            epochs = ", ".join(str(each["training"]["best_epoch"]) for each in runs)
            cells.append(f"{mean_spread([each['result']['mR'] for each in runs])} ({epochs})" if runs else "")
        rows.append([f"A3VSE, {SYSTEMS[name].label}" if name in FORMS else SYSTEMS[name].label, *cells])
    return ["mR on val (best epoch)", *(f"{share:.0%} x {count}" for share, count in sparsities)], rows


def ablation_table(records: Records) -> Table:
    """Table 5: a row per change of A3VSE at its sparsity; no rows if none was measured."""
    own = [each for each in records if (each["images"], each["per_image"]) == ABLATED]
    changed = _present(own, ABLATIONS)
    rows = []
    for name, method in {**changed, **({"a3vse": Method("full model", "a3vse")} if changed else {})}.items():
        results = [each["result"] for each in own if each["method"] == name]
        recalls = [mean_spread([each[way][key] for each in results]) for way in DIRECTIONS for key in RECALLS]
        rows.append([method.label, *recalls, mean_spread([each["mR"] for each in results])])
    ways = [f"{way} {key}" for way in DIRECTIONS for key in RECALLS]
    return ["A3VSE", *ways, "mR"], rows


def draw_curve(records: Records, path: Path) -> None:
    """`curve` as a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    curve(records, figure)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, dpi=130)


def curve(records: Records, figure: Figure) -> None:
    """Recall against annotated pairs, one line per method; s_g, which has none, is a horizontal line.

    Lines join runs with the most captions per image, as in the paper; the others are single points, since the same
    number of pairs on more pictures is worth more, and a line through all would zigzag.
    """
    panels = figure.subplots(1, len(PANELS))
    learnt = [each for each in _learnt(records) if each["method"] in METHODS]
    most = max((_captions(each) for each in learnt), default=0)
    for axes, (title, key) in zip(panels, PANELS.items(), strict=True):
        for number, (name, method) in enumerate(_present(records, METHODS).items()):
            colour = f"C{number}"
            own = [each for each in records if each["method"] == name]
            if name == TAGS:
                axes.axhline(_value(own[0], key), color=colour, linestyle="--", label=method.label)
                continue
            joined = _points([each for each in own if _captions(each) == most], key)
            if joined:
                draw_line(axes, joined, method.label, color=colour)
            for pairs, values in _points([each for each in own if _captions(each) < most], key).items():
                axes.plot([pairs] * len(values), values, "x", color=colour, markersize=4, alpha=0.6)
        axes.set(title=title, xlabel="annotated pairs", ylim=(0, None))
        if learnt:
            axes.set_xscale("log")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("recall, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    seeds = len({each["seed"] for each in learnt})
    captions = "all captions" if most == float("inf") else f"{most:g} captions"
    lines = f"; lines: {captions} per image, crosses: fewer; {seeds} seeds" if learnt else ""
    figure.suptitle(f"{records[0]['lang']}, split {records[0]['split']}{lines}")


def _learnt(records: Records) -> list[dict[str, Any]]:
    return [each for each in records if each["method"] != TAGS]


def _present(records: Records, methods: Mapping[str, Method]) -> dict[str, Method]:
    present = {each["method"] for each in records}
    return {name: method for name, method in methods.items() if name in present}


def _captions(record: Mapping[str, Any]) -> float:
    """Captions per image; infinity for all."""
    return record["per_image"] or float("inf")


def _value(record: Mapping[str, Any], key: Sequence[str]) -> float:
    value: Any = record["result"]
    for part in key:
        value = value[part]
    return float(value)


def _pairs(records: Records) -> dict[tuple[float, int], int]:
    """Sparsity -> its number of pairs, ascending; the mean over seeds, since images may have fewer captions."""
    counts: dict[tuple[float, int], list[int]] = {}
    for each in _learnt(records):
        counts.setdefault((each["images"], each["per_image"]), []).append(each["pairs"])
    means = {sparsity: round(statistics.mean(pairs)) for sparsity, pairs in counts.items()}
    return dict(sorted(means.items(), key=lambda pair: (pair[1], pair[0])))


def _points(records: Records, key: Sequence[str]) -> dict[int, list[float]]:
    """Number of pairs -> the values of all seeds."""
    pairs = _pairs(records)
    points: dict[int, list[float]] = {}
    for each in records:
        points.setdefault(pairs[each["images"], each["per_image"]], []).append(_value(each, key))
    return points
