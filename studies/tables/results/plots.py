"""Plots of the runs in many languages, as in the papers, for docs/images/."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from lingvis.files import atomic_file
from studies.compact.report import prefix_lines
from studies.retrieval_tables.report import draw_weights
from studies.sparse.report import SIZE, curve
from studies.tables.results.ablations import LAMBDAS, val_average
from studies.tables.results.label_places import place_labels
from studies.tables.results.language_scores import LANGUAGES, TESTED, scores
from studies.tables.results.languages import ROWS
from studies.tables.results.records import Results
from studies.tables.results.sparse import chosen_grid

# Okabe and Ito 2008: distinguishable for colour-blind people; markers differ too.
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#444444"
MODELS = {
    "S-LIWE": ("s_liwe", ORANGE, "s", (1, 2, 4, 6, 8, 10)),
    "MULE": ("mule", BLUE, "o", (2, 7, 10)),
    "SMALR": ("smalr", GREEN, "^", (2, 7, 10)),
}
COUNTS = (1, 2, 4, 6, 7, 8, 10)


def parameters(results: Results, figure: Figure) -> None:
    """SMALR's Figure 3: A against trained parameters."""
    axes = figure.add_subplot()
    axes.set(xscale="log", xlabel="trained parameters, millions", ylabel="A: mean mR of seven languages")
    axes.set_title("How good and how large: models of ten languages, test split")
    curves = {
        "MULE, fewer words (from 50, 20, 5 on)": (RED, "v", [f"threshold-{count}" for count in (50, 20, 5)]),
        "MULE, PCA (50, 100, 200)": (PURPLE, "D", [f"pca-{dim}" for dim in (50, 100, 200)]),
        "MULE, dictionary (below 50, 20, 5)": (
            ORANGE,
            "s",
            [f"dictionary-{count}" for count in (50, 20, 5)],
        ),
    }
    taken: list[tuple[float, float]] = []
    for label, (colour, marker, names) in curves.items():
        curve = [point for name in [*names, "mule"] if (point := _size_and_score(results, name))]
        if len(curve) > 1:
            axes.plot(
                *zip(*curve, strict=True), color=colour, marker=marker, markersize=5, lw=1.3, label=label
            )
            taken += curve
    labelled: dict[str, tuple[float, float]] = {}
    for label, parts in ROWS.items():
        point = _size_and_score(results, *parts)
        if point and parts[0].split("-")[0] not in ("threshold", "pca", "dictionary"):
            labelled[label.replace("`", "").replace(", 10 languages", "")] = point
    for label, (x, y) in labelled.items():
        ours = label == "lingvis_frozen"
        axes.scatter(
            x, y, color=GREEN if ours else BLUE, marker="*" if ours else "o", s=150 if ours else 36, zorder=3
        )
    axes.margins(x=0.12, y=0.12)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:g}" if str(value)[0] in "235" else "")
    )
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    _finish(axes, empty=not labelled)
    if labelled:
        figure.draw_without_rendering()  # so that places are known
        place_labels(axes, labelled, [*taken, *labelled.values()])


def _size_and_score(results: Results, *names: str) -> tuple[float, float] | None:
    row = scores(results, *names)
    score = None if row is None else row.average(TESTED)
    if row is None or score is None or not row.complete:
        return None
    return row.sizes["training"] / 1e6, statistics.mean(score)


def languages(results: Results, figure: Figure) -> None:
    """SMALR's Figure 1b: the mean over the languages of a model, and English alone."""
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    panels: dict[Axes, Callable[[int], Sequence[str]]] = {
        left: lambda count: [lang for lang in LANGUAGES[:count] if lang in TESTED],
        right: lambda count: ["en"],
    }
    for axes, measured in panels.items():
        for label, (name, colour, marker, counts) in MODELS.items():
            averages = [(count, _average(results, _row(name, count), measured(count))) for count in counts]
            line = [(count, score) for count, score in averages if score is not None]
            if line:
                axes.plot(*zip(*line, strict=True), color=colour, marker=marker, label=label)
        axes.set(xlabel="languages trained on", xticks=COUNTS)
        _finish(axes, empty=not axes.lines)
    if left.lines:
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    left.set(title="mean of its languages with a test split", ylabel="mR, test split")
    right.set(title="English alone")


def _row(name: str, count: int) -> str:
    """The row of a model of `count` languages."""
    if name == "s_liwe" and count in (1, 2, 10):
        return f"s_liwe-{count}"
    return name if count == 10 else f"{name}-{count}-languages"


def _average(results: Results, name: str, measured: Sequence[str]) -> float | None:
    row = scores(results, name)
    values = None if row is None else row.average(measured)
    return None if values is None else statistics.mean(values)


def weights(results: Results, figure: Figure) -> None:
    """SMALR's Figure 4: the weight of masked cross-language modelling."""
    axes = figure.add_subplot()
    averages = {10.0**power: val_average(results, name) for power, name in LAMBDAS.items()}
    line = [(value, score) for value, score in averages.items() if score is not None]
    axes.set(
        xscale="log", xlabel="weight of the masked term (lambda 2)", ylabel="mR on val, mean of ten languages"
    )
    axes.set_title("SMALR: how much masked cross-language modelling")
    if line:
        axes.plot(*zip(*line, strict=True), color=GREEN, marker="^")
        for value, score in line:
            axes.annotate(
                f"{score:.1f}", (value, score), (0, 8), textcoords="offset points", ha="center", fontsize=9
            )
        middle = statistics.mean(score for _, score in line)
        low, high = min(score for _, score in line), max(score for _, score in line)
        axes.set_ylim(
            min(low - 0.5, middle - 2), max(high + 0.5, middle + 2)
        )  # noise must not look like a slope
    axes.xaxis.set_minor_formatter(NullFormatter())
    _finish(axes, empty=not line)


def compact(results: Results, figure: Figure) -> None:
    """mR against the length of the embeddings, by number of distractors; the last record."""
    axes = figure.add_subplot()
    records = results.where("compact")
    axes.set(xscale="log", xlabel="first values of the embeddings", ylabel="mR, mean of the languages")
    for record in records[-1:]:
        lines = prefix_lines(record)
        for (count, line), colour, marker in zip(
            lines.items(), (BLUE, ORANGE, GREEN, RED), "os^D", strict=False
        ):
            axes.plot(
                *zip(*line, strict=True), color=colour, marker=marker, label=f"{count:,} pictures added"
            )
        axes.set_xticks([dim for dim, _ in lines[0]], [str(dim) for dim, _ in lines[0]])
        axes.legend(frameon=False)
        axes.set_title(f"{record['model']}, split {record['split']}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    _finish(axes, empty=not records)


def coefficients(results: Results, figure: Figure) -> None:
    """The learned weights of GPO by rank, for several sizes of sets and all seeds."""
    if not draw_weights(figure, lambda variant: results.seeds("retrieval-tables", variant)):
        _finish(figure.add_subplot(), empty=True)


def few_annotations(results: Results, figure: Figure) -> None:
    """A3VSE's Figure 1: recall against annotated pairs, with the chosen form of A3VSE."""
    records = chosen_grid(results)
    if records:
        curve(records, figure)
    else:
        _finish(figure.add_subplot(), empty=True)


def _finish(axes: Axes, *, empty: bool) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    if empty:
        axes.set(xticks=[], yticks=[])
        axes.tick_params(which="minor", bottom=False, labelbottom=False)
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=GREY)


PLOTS: dict[str, tuple[Callable[[Results, Figure], None], tuple[float, float]]] = {
    "parameters.png": (parameters, (8, 5)),
    "languages.png": (languages, (8, 3.6)),
    "lambda.png": (weights, (5.5, 3.4)),
    "compact.png": (compact, (5.5, 3.4)),
    "coefficients.png": (coefficients, (8, 6)),
    "sparse.png": (few_annotations, SIZE),
}


def draw(results: Results, folder: Path) -> None:
    """All plots into a folder; the same records give the same pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (plot, size) in PLOTS.items():
        figure = Figure(figsize=size, dpi=110, layout="constrained")
        plot(results, figure)
        with atomic_file(folder / name) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})
