"""The scores that a query has with ordinary pictures of a collection: a hit should stand out from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Floats

SAMPLED = 1000  # pictures of a collection, at most
USUAL_PICTURES = 20  # that the usual values count for, so that few pictures have a steady spread


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """Mean and variance of the scores of a query with this number of pictures."""

    mean: float
    variance: float
    pictures: int

    @classmethod
    def of(cls, scores: Floats) -> ScoreSpread:
        """Describe scores [pictures]."""
        if not len(scores):
            return cls(0.0, 0.0, 0)
        return cls(float(scores.mean(dtype=np.float64)), float(scores.var(dtype=np.float64)), len(scores))

    def deviations(self, score: float, *, usual_mean: float, usual_deviation: float) -> float:
        """How many standard deviations a score lies above the mean, which USUAL_PICTURES with usual scores steady."""
        among = self.pictures + USUAL_PICTURES
        mean = (self.pictures * self.mean + USUAL_PICTURES * usual_mean) / among
        own = self.variance + (self.mean - mean) ** 2
        usual = usual_deviation**2 + (usual_mean - mean) ** 2
        variance = (self.pictures * own + USUAL_PICTURES * usual) / among
        return (score - mean) / math.sqrt(max(variance, 1e-12))
