"""Metrics worked out by hand, and chance against drawing at random."""

from __future__ import annotations

import numpy as np
import pytest

from lingvis.evaluation.metrics import (
    RECALLS,
    RetrievalScores,
    chance,
    mean_over,
    mean_scores,
    recalls,
    scores,
)
from lingvis.evaluation.ranks import Ranks


def test_recalls_by_hand() -> None:
    found = recalls(np.array([0, 0, 1, 4, 5, 9, 10, 99]))
    assert found == {"R@1": 25.0, "R@5": 50.0, "R@10": 75.0, "median": 5.5, "mean": 17.0}


def test_sum_and_mean_of_the_six_recalls() -> None:
    found = scores(Ranks(np.array([0, 7]), np.array([3, 3, 3, 50])))
    assert found.i2t["R@1"] == 50.0
    assert found.t2i["R@5"] == 75.0
    assert found.rsum == 50 + 50 + 100 + 0 + 75 + 75
    assert found.mR == pytest.approx(350 / 6)


def test_folds_are_averaged_number_by_number() -> None:
    folds = [scores(Ranks(np.array([0, 0]), np.array([0]))), scores(Ranks(np.array([0, 20]), np.array([4])))]
    found = mean_scores(folds)
    assert found.i2t == {"R@1": 75.0, "R@5": 75.0, "R@10": 75.0, "median": 6.0, "mean": 6.0}
    assert found.t2i == {"R@1": 50.0, "R@5": 100.0, "R@10": 100.0, "median": 3.0, "mean": 3.0}
    assert found.rsum == 475.0
    assert found.mR == pytest.approx(np.mean([fold.mR for fold in folds]))


def test_mean_over_languages_leaves_out_what_was_not_measured() -> None:
    languages = {
        lang: RetrievalScores(i2t=dict.fromkeys(RECALLS, value), t2i=dict.fromkeys(RECALLS, value))
        for lang, value in (("en", 60.0), ("de", 40.0), ("ar", 20.0))
    }
    assert mean_over(languages, languages) == 40.0
    assert mean_over(languages, ("en", "de", "fr")) == 50.0
    assert mean_over(languages, ("fr",)) is None


def test_chance_equals_the_mean_over_random_orders() -> None:
    image_of = np.array([0, 0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, 13])
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(2000):
        i2t = [int(np.flatnonzero(image_of[rng.permutation(18)] == image)[0]) for image in range(14)]
        t2i = [int(np.flatnonzero(rng.permutation(14) == image)[0]) for image in image_of]
        drawn.append(scores(Ranks(np.array(i2t), np.array(t2i))).mR)
    assert chance(image_of) == pytest.approx(np.mean(drawn), abs=0.6)


def test_chance_on_less_than_ten_answers() -> None:
    assert chance(np.array([0])) == 100.0
    assert chance(np.array([0, 1])) == pytest.approx((50 + 50 + 100 * 4) / 6)
