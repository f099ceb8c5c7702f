"""Paired bootstrap over pictures: does the difference of two models exceed the luck of the drawn test pictures?

Both models are measured on the same resampled pictures, so that easy and hard pictures cancel out. Ranks are those
among all pictures of the pool; only the queries are drawn again, each picture with all its captions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.evaluation.metrics import CUTOFFS
from lingvis.evaluation.ranks import Ranks

SAMPLES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference of mR and the interval that contains it with a confidence of 95 %."""

    difference: float
    low: float
    high: float

    @property
    def decided(self) -> bool:
        """Whether the interval excludes zero, so that the pictures decide which model is better."""
        return self.low > 0 or self.high < 0


def picture_weights(pictures: int, *, seed: int = 0, samples: int = SAMPLES) -> Floats:
    """How often each picture occurs in each sample, float32 [samples, pictures]; a row sums to `pictures`."""
    draws = np.random.default_rng(seed)
    return draws.multinomial(pictures, np.full(pictures, 1 / pictures), size=samples).astype(np.float32)


def resampled_scores(ranks: Ranks, image_of: Ints, weights: Floats) -> Floats:
    """mR in percent of each sample [samples]; weights: [samples, images of the pool]."""
    images = len(ranks.i2t)
    captions = np.bincount(image_of, minlength=images).astype(np.float32)
    pictures = np.maximum(weights.sum(axis=1), 1)
    texts = np.maximum(weights @ captions, 1)
    recalls = [
        part
        for k in CUTOFFS
        for part in (
            weights @ (ranks.i2t < k).astype(np.float32) / pictures,
            weights @ np.bincount(image_of, ranks.t2i < k, images).astype(np.float32) / texts,
        )
    ]
    return np.asarray(100 * np.mean(recalls, axis=0), dtype=np.float32)


def interval(difference: float, samples: Floats) -> Interval:
    """The percentile interval of the sampled differences."""
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(difference, float(low), float(high))
