"""The overlap of boxes with the cells of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def coverage(fractions: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """The share of each box in each cell, [boxes, rows * columns]; every row sums to one.

    fractions: [boxes, 4], x0, y0, x1, y1 as shares of width and height; a half-covered cell counts half.
    """
    across = _overlap(fractions[:, 0], fractions[:, 2], columns)
    down = _overlap(fractions[:, 1], fractions[:, 3], rows)
    areas = (down[:, :, None] * across[:, None, :]).reshape(len(fractions), rows * columns)
    shares: NDArray[np.float64] = areas / areas.sum(axis=1, keepdims=True)
    return shares


def _overlap(starts: NDArray[np.float64], ends: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    """The length that each interval shares with each of `cells` equal parts of [0, 1], [intervals, cells]."""
    edges = np.linspace(0.0, 1.0, cells + 1)
    shared = np.minimum(ends[:, None], edges[1:]) - np.maximum(starts[:, None], edges[:-1])
    lengths: NDArray[np.float64] = np.maximum(shared, 0.0)
    return lengths
