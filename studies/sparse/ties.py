"""Recalls of a system with many equal scores, if ties were broken at random."""

from __future__ import annotations

import statistics
from math import comb
from typing import Any

import numpy as np

from lingvis.arrays import Floats, Ints

PLACES = (1, 5, 10)


def random_tie_recalls(scores: Floats, image_of: Ints) -> dict[str, Any]:
    """Expected recalls in percent, i2t and t2i, and their mean mR; scores [images, texts], image_of int64 [texts]."""
    texts = range(scores.shape[1])
    ways = {
        "i2t": [_chances(row, np.flatnonzero(image_of == image)) for image, row in enumerate(scores)],
        "t2i": [_chances(scores[:, text], image_of[text : text + 1]) for text in texts],
    }
    recalls = {
        way: {f"R@{k}": 100 * statistics.mean(each[k] for each in chances) for k in PLACES}
        for way, chances in ways.items()
    }
    return {**recalls, "mR": statistics.mean(value for way in recalls.values() for value in way.values())}


def _chances(scores: Floats, right: Ints) -> dict[int, float]:
    """The chance that a right answer is among the first k, by k; scores: of all answers, right: places of right ones."""
    best = scores[right].max()
    ahead = int((scores > best).sum())
    tied = int((scores == best).sum())
    good = int((scores[right] == best).sum())
    return {k: _one_of(good, tied, min(max(k - ahead, 0), tied)) for k in PLACES}


def _one_of(good: int, tied: int, drawn: int) -> float:
    """The chance that some of `good` among `tied` answers in random order are among the first `drawn`."""
    return 1 - comb(tied - good, drawn) / comb(tied, drawn)
