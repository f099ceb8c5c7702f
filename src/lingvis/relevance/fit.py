"""Fit a calibration: logistic regression of "the hit is right" on its score and on the collection."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.relevance.calibration import Calibration, CalibrationSource
from lingvis.relevance.judgements import Trial

Doubles = NDArray[np.float64]
STEPS, RIDGE = 100, 1e-6
FEWEST = 16  # right first hits, and wrong ones


def fit_calibration(
    trials: Sequence[Trial], *, model: str, dataset: str, split: str, pictures: int
) -> Calibration:
    """Fit on the judged first hits. Queries with and without a right picture, names and sentences, weigh a quarter each."""
    judged = [trial for trial in trials if trial.judged[0] is not None]
    answers = np.array([trial.judged[0] for trial in judged], np.float64)
    right, wrong = int(answers.sum()), len(answers) - int(answers.sum())
    if min(right, wrong) < FEWEST:
        raise UserError(
            f"split {split} of {dataset} gives {right} right and {wrong} wrong hits, too few to calibrate scores; use a "
            f"split with more captioned pictures (at least {FEWEST} of each are needed)"
        )
    usual_mean = float(np.mean([trial.spread.mean for trial in judged]))
    usual_deviation = float(np.mean([trial.spread.variance for trial in judged])) ** 0.5
    features = np.array(
        [
            (
                trial.scores[0],
                trial.spread.deviations(
                    trial.scores[0], usual_mean=usual_mean, usual_deviation=usual_deviation
                ),
                math.log(trial.pictures),
            )
            for trial in judged
        ]
    )
    groups = [(trial.query.kind, trial.query.answerable) for trial in judged]
    shares = {group: 1 / count for group, count in Counter(groups).items()}
    weights = np.array([shares[group] for group in groups])
    has_right = np.array([trial.query.answerable for trial in judged])
    for some in (has_right, ~has_right):  # one half of all queries have a right picture
        weights[some] /= 2 * max(weights[some].sum(), 1e-12)
    intercept, score, deviation, size = _logistic(features, answers, weights)
    return Calibration(
        intercept=intercept,
        score=score,
        deviation=deviation,
        log_pictures=size,
        usual_mean=round(usual_mean, 6),
        usual_deviation=round(usual_deviation, 6),
        source=CalibrationSource(
            model=model, dataset=dataset, split=split, pictures=pictures, right=right, wrong=wrong
        ),
    )


def _logistic(features: Doubles, labels: Doubles, weights: Doubles) -> list[float]:
    """Intercept and coefficients of a weighted logistic regression, by Newton's method on features of unit variance."""
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    inputs = np.column_stack([np.ones(len(features)), (features - mean) / scale])
    beta = np.zeros(inputs.shape[1])
    penalty = RIDGE * np.eye(len(beta))
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-np.clip(inputs @ beta, -50, 50)))
        gradient = inputs.T @ (weights * (labels - expected)) - penalty @ beta
        curvature = (inputs.T * (weights * expected * (1 - expected))) @ inputs + penalty
        step = np.linalg.solve(curvature, gradient)
        beta += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    slopes = beta[1:] / scale
    return [round(float(value), 6) for value in (beta[0] - slopes @ mean, *slopes)]
