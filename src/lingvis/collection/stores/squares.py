"""Squares of the map that have pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lingvis.collection.stores.records import MOST_PLACES, PlaceCount

Degrees = NDArray[np.float64]


def count_squares(
    latitude: Degrees, longitude: Degrees, id_of: Callable[[int], str], step: float
) -> list[PlaceCount]:
    """Return pictures per square of `step` degrees, the largest numbers first.

    latitude, longitude: of all pictures, the newest first, so that the first of a square is its newest; id_of: the id of
    a picture by its place in them.
    """
    squares = np.stack([latitude // step, longitude // step])
    _, first, square, counts = np.unique(
        squares, axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    means = [np.bincount(square.ravel(), values) / counts for values in (latitude, longitude)]
    found = [
        PlaceCount(north, east, count, id_of(place))
        for north, east, count, place in zip(
            means[0].tolist(), means[1].tolist(), counts.tolist(), first.tolist(), strict=True
        )
    ]
    return sorted(found, key=lambda place: (-place.pictures, place.id))[:MOST_PLACES]
