"""Coverage of cells by boxes, against counting on a fine raster."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lingvis.features.regions import coverage

FINE = 60  # a multiple of every grid side used here


def naive(box: tuple[int, int, int, int], rows: int, columns: int) -> np.ndarray:
    """Count the points of a fine raster that fall into each cell."""
    counts = np.zeros((rows, columns))
    for y in range(box[1], box[3]):
        for x in range(box[0], box[2]):
            counts[y * rows // FINE, x * columns // FINE] += 1
    shares: np.ndarray = counts.reshape(-1) / counts.sum()
    return shares


sides = st.tuples(st.integers(0, FINE - 1), st.integers(1, FINE)).map(lambda p: (min(p), max(p[0] + 1, p[1])))


@given(sides, sides, st.sampled_from([1, 2, 3, 4, 5, 6]), st.sampled_from([1, 2, 3, 4, 5, 6]))
def test_coverage_is_the_shared_area(x: tuple[int, int], y: tuple[int, int], rows: int, columns: int) -> None:
    box = (x[0], y[0], x[1], y[1])
    found = coverage(np.array([box]) / FINE, rows, columns)
    assert found.shape == (1, rows * columns)
    np.testing.assert_allclose(found[0], naive(box, rows, columns), atol=1e-12)


def test_the_whole_picture_is_the_mean_of_all_cells() -> None:
    np.testing.assert_allclose(coverage(np.array([[0.0, 0.0, 1.0, 1.0]]), 7, 7), np.full((1, 49), 1 / 49))
