"""The uncertainty of a model about a picture: how little its best caption stands out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lingvis.arrays import Floats

BLOCK = 256  # pictures compared with all captions at once


def standing_out(pictures: int, scores: Callable[[slice], Floats]) -> Floats:
    """How far the score of each picture's best caption is above the mean, in standard deviations, [pictures].

    scores: of a slice of the pictures with every known caption, [pictures, captions]. A picture similar to annotated
    ones has a fitting caption; a picture of a new kind has none, or many that fit a little. Unlike an entropy this needs
    no temperature, and unlike the distance to the second best it is not disturbed by pictures with five captions.
    """
    standing = np.empty(pictures, np.float32)
    for first in range(0, pictures, BLOCK):
        part = slice(first, min(first + BLOCK, pictures))
        some = scores(part)
        spread = some.std(axis=1)
        above = some.max(axis=1) - some.mean(axis=1)
        standing[part] = np.divide(above, spread, out=np.zeros_like(above), where=spread > 0)
    return standing


def uncertainty(standing: Floats) -> Floats:
    """The share of the other pictures whose best caption stands out more, from 0 (most certain) to 1, [pictures].

    A rank among the others is comparable between models, whatever their scores.
    """
    ordered = np.sort(standing)
    more = len(standing) - np.searchsorted(ordered, standing, side="right")
    return (more / max(1, len(standing) - 1)).astype(np.float32)
