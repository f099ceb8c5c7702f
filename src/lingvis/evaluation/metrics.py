"""Ranks -> the numbers papers print, in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.evaluation.ranks import Ranks

CUTOFFS = (1, 5, 10)
RECALLS = tuple(f"R@{k}" for k in CUTOFFS)
DIRECTIONS = ("i2t", "t2i")


def recalls(ranks: NDArray[np.int64]) -> dict[str, float]:
    """R@1, R@5, R@10 in percent, median and mean rank counted from one; ranks: zero-based, [queries]."""
    found = {f"R@{k}": 100.0 * int((ranks < k).sum()) / len(ranks) for k in CUTOFFS}
    return found | {"median": float(np.median(ranks)) + 1, "mean": float(ranks.mean()) + 1}


def scores(found: Ranks) -> dict[str, Any]:
    """Both directions, rsum (the sum of the six recalls) and mR (their mean)."""
    return _summed({"i2t": recalls(found.i2t), "t2i": recalls(found.t2i)})


def mean_scores(folds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of every number over folds."""
    directions = {
        way: {key: float(np.mean([fold[way][key] for fold in folds])) for key in folds[0][way]}
        for way in DIRECTIONS
    }
    return _summed(directions)


def chance(image_of: NDArray[np.int64]) -> float:
    """mR of a random order: what a model that has learned nothing gets on average.

    An image with c of the t captions has one of its own among the first k with probability
    1 - (t-c)/t * (t-c-1)/(t-1) * ... (k factors); a caption finds its image with probability k / images.
    """
    own = np.bincount(image_of)
    texts, images = len(image_of), len(own)
    six: list[float] = []
    for k in CUTOFFS:
        drawn = np.arange(min(k, texts))
        missed = np.clip((texts - own[:, None] - drawn) / (texts - drawn), 0.0, 1.0).prod(axis=1)
        six += [float(1 - missed.mean()), min(k, images) / images]
    return 100.0 * sum(six) / len(six)


def mean_over(languages: Mapping[str, Mapping[str, Any]], chosen: Iterable[str]) -> float | None:
    """Mean of mR over the chosen languages that were measured, None without any (A and HA of SMALR)."""
    values = [languages[lang]["mR"] for lang in chosen if lang in languages]
    return sum(values) / len(values) if values else None


def _summed(directions: dict[str, dict[str, float]]) -> dict[str, Any]:
    rsum = sum(directions[way][key] for way in DIRECTIONS for key in RECALLS)
    return {**directions, "mR": rsum / (len(DIRECTIONS) * len(RECALLS)), "rsum": rsum}
