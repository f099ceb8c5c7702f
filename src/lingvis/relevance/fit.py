"""Fit a calibration: logistic regression of "the hit is right" on its score and on the size of the collection."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.relevance.calibration import Calibration, CalibrationSource
from lingvis.relevance.judgements import Trial

Doubles = NDArray[np.float64]
STEPS, RIDGE = 100, 1e-6
FEWEST = 30  # judged hits of each group


def fit_calibration(
    trials: Iterable[Trial], *, model: str, dataset: str, split: str, pictures: int
) -> Calibration:
    """Fit on the judged hits. Right and wrong hits of names and of sentences weigh a quarter each, where there are all."""
    rows: list[tuple[float, float, float]] = []
    groups: list[tuple[bool, str]] = []
    for trial in trials:
        for score, judged in zip(trial.scores, trial.judged, strict=True):
            if judged is not None:
                rows.append((1.0, score, math.log(trial.pictures)))
                groups.append((judged, trial.query.kind))
    labels = [judged for judged, _ in groups]
    right, wrong = sum(labels), len(labels) - sum(labels)
    if min(right, wrong) < FEWEST:
        raise UserError(
            f"split {split} of {dataset} gives {right} right and {wrong} wrong hits, too few to calibrate scores; use a "
            f"split with more captioned pictures (at least {FEWEST} of each are needed)"
        )
    shares = {group: 1 / groups.count(group) for group in set(groups)}
    weights = np.array([shares[group] for group in groups])
    answers = np.array(labels, np.float64)
    for label in (0.0, 1.0):  # one half of all queries have a right picture
        weights[answers == label] /= 2 * weights[answers == label].sum()
    intercept, slope, size = _logistic(np.array(rows), answers, weights)
    source = CalibrationSource(
        model=model, dataset=dataset, split=split, pictures=pictures, right=right, wrong=wrong
    )
    return Calibration(intercept=intercept, score=slope, log_pictures=size, source=source)


def _logistic(features: Doubles, labels: Doubles, weights: Doubles) -> list[float]:
    """Coefficients of a weighted logistic regression, by Newton's method."""
    beta = np.zeros(features.shape[1])
    penalty = RIDGE * np.eye(len(beta))
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-np.clip(features @ beta, -50, 50)))
        gradient = features.T @ (weights * (labels - expected)) - penalty @ beta
        curvature = (features.T * (weights * expected * (1 - expected))) @ features + penalty
        step = np.linalg.solve(curvature, gradient)
        beta += np.clip(step, -5, 5)
        if np.abs(step).max() < 1e-9:
            break
    return [round(float(value), 6) for value in beta]
