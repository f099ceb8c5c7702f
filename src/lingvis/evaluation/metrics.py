"""Ranks -> the numbers that papers report, in percent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Ints
from lingvis.evaluation.ranks import Ranks

CUTOFFS = (1, 5, 10)
RECALLS = tuple(f"R@{k}" for k in CUTOFFS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalScores:
    """The recalls of both directions.

    i2t, t2i: R@1, R@5 and R@10 in percent, median and mean rank counted from one.
    """

    i2t: Mapping[str, float]
    t2i: Mapping[str, float]

    @property
    def rsum(self) -> float:
        """The sum of the six recalls."""
        return sum(direction[key] for direction in (self.i2t, self.t2i) for key in RECALLS)

    @property
    def mR(self) -> float:  # noqa: N802
        """The mean of the six recalls."""
        return self.rsum / (2 * len(RECALLS))


def recalls(ranks: Ints) -> dict[str, float]:
    """R@1, R@5, R@10 in percent, median and mean rank counted from one; ranks: zero-based, [queries]."""
    shares = {f"R@{k}": 100.0 * int((ranks < k).sum()) / len(ranks) for k in CUTOFFS}
    return shares | {"median": float(np.median(ranks)) + 1, "mean": float(ranks.mean()) + 1}


def scores(ranks: Ranks) -> RetrievalScores:
    """The recalls of both directions."""
    return RetrievalScores(i2t=recalls(ranks.i2t), t2i=recalls(ranks.t2i))


def mean_scores(folds: Sequence[RetrievalScores]) -> RetrievalScores:
    """The mean of every number over folds."""

    def mean(directions: Sequence[Mapping[str, float]]) -> dict[str, float]:
        return {key: float(np.mean([direction[key] for direction in directions])) for key in directions[0]}

    return RetrievalScores(i2t=mean([fold.i2t for fold in folds]), t2i=mean([fold.t2i for fold in folds]))


def chance(image_of: Ints) -> float:
    """mR of a random order, the expected score of an untrained model.

    An image with c of the t captions finds one of them among the first k with probability
    1 - (t-c)/t * (t-c-1)/(t-1) * ... (k factors); a caption finds its image with probability k / images.
    """
    captions_of = np.bincount(image_of)
    texts, images = len(image_of), len(captions_of)
    six: list[float] = []
    for k in CUTOFFS:
        drawn = np.arange(min(k, texts))
        missed = np.clip((texts - captions_of[:, None] - drawn) / (texts - drawn), 0.0, 1.0).prod(axis=1)
        six += [float(1 - missed.mean()), min(k, images) / images]
    return 100.0 * sum(six) / len(six)


def mean_over(languages: Mapping[str, RetrievalScores], chosen: Iterable[str]) -> float | None:
    """Mean mR over the chosen languages that were measured; None if there are none (A and HA of SMALR)."""
    values = [languages[lang].mR for lang in chosen if lang in languages]
    return sum(values) / len(values) if values else None
