"""Records of many runs as rows, means and lines."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Records = Sequence[dict[str, Any]]
DIRECTIONS = {"t2i": "text -> image", "i2t": "image -> text"}
RECALLS = ("R@1", "R@5", "R@10")


def to_csv(records: Records, columns: Mapping[str, str]) -> str:
    """A row per run and direction; columns: head -> key of the record. mR is that of both directions."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, "direction", *RECALLS, "mR", "split"])
    for record in records:
        result = record["result"]
        for direction in DIRECTIONS:
            recalls = [f"{result[direction][key]:.2f}" for key in RECALLS]
            shown = [record[key] for key in columns.values()]
            writer.writerow([*shown, direction, *recalls, f"{result['mR']:.2f}", record["split"]])
    return text.getvalue()


def mean_spread(values: Sequence[float]) -> str:
    """`8.5 ± 2.1`: mean and standard deviation; empty without values."""
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{deviation}"


def draw_line(axes: Any, points: Mapping[int, Sequence[float]], label: str, **style: Any) -> None:
    """The mean of the values at each point, with a band of one standard deviation."""
    places = sorted(points)
    mean = [statistics.mean(points[place]) for place in places]
    spread = [statistics.stdev(points[place]) if len(points[place]) > 1 else 0.0 for place in places]
    (line,) = axes.plot(places, mean, marker="o", markersize=3, label=label, **style)
    low = [middle - width for middle, width in zip(mean, spread, strict=True)]
    high = [middle + width for middle, width in zip(mean, spread, strict=True)]
    axes.fill_between(places, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
