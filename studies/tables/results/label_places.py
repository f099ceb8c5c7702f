"""Labels beside the points of a plot that cover nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

# Offsets of a label from its point, in points: the first free one is used.
PLACES = [(x, y) for y in (0, 9, -9, 18, -18) for x in (7, -7, 0)]
LOOK: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9, "color": "#444444"}


def place_labels(
    axes: Axes, points: dict[str, tuple[float, float]], taken: Sequence[tuple[float, float]]
) -> None:
    """Write each label beside its point so that it covers no other point and no other label."""
    spots = axes.transData.transform(taken).tolist()
    busy = [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in spots]
    frame = axes.get_window_extent()
    for label, point in points.items():
        for x, y in PLACES:
            side = "left" if x > 0 else "right" if x < 0 else "center"
            text = axes.annotate(label, point, (x, y), ha=side, **LOOK)
            text.set_in_layout(False)
            box = text.get_window_extent()
            inside = frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
            if (inside and not box.count_overlaps(busy)) or (x, y) == PLACES[-1]:
                busy.append(box)
                break
            text.remove()
