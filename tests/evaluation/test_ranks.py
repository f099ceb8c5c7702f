"""Ranks by counting against a naive loop in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints
from lingvis.errors import UserError
from lingvis.evaluation import ranks as module
from lingvis.evaluation import scorers
from lingvis.evaluation.ranks import TOLERANCE, Ranks, ranks
from lingvis.evaluation.scorers import EVERY, FunctionScores, InnerProduct, MeanScores, ScoreMatrix


def naive(scores: NDArray[Any], image_of: Ints) -> Ranks:
    """One query at a time, one candidate at a time, in float64."""
    matrix = scores.astype(np.float64)
    images, texts = matrix.shape
    i2t, t2i = [], []
    for i in range(images):
        best = max(matrix[i, t] for t in range(texts) if image_of[t] == i)
        i2t.append(sum(image_of[t] != i and matrix[i, t] >= best - TOLERANCE / 2 for t in range(texts)))
    for t in range(texts):
        right = matrix[image_of[t], t]
        t2i.append(sum(i != image_of[t] and matrix[i, t] >= right - TOLERANCE / 2 for i in range(images)))
    return Ranks(np.asarray(i2t), np.asarray(t2i))


def assert_same(found: Ranks, expected: Ranks) -> None:
    np.testing.assert_array_equal(found.i2t, expected.i2t)
    np.testing.assert_array_equal(found.t2i, expected.t2i)


def ragged(rng: np.random.Generator, images: int, extra: int) -> Ints:
    """Captions in no order, one to many an image."""
    return rng.permutation(np.concatenate([np.arange(images), rng.integers(images, size=extra)]))


def whole_numbers(rng: np.random.Generator, rows: int, dim: int) -> Floats:
    """Vectors whose inner products are exact in float32, so that ties are exact too."""
    return rng.integers(-2, 3, size=(rows, dim)).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    images=st.integers(1, 12),
    extra=st.integers(0, 25),
    dim=st.integers(1, 4),
    block=st.integers(1, 40),
    strip=st.integers(1, 13),
)
def test_equals_the_naive_loop_with_ragged_captions_ties_and_any_block(
    seed: int, images: int, extra: int, dim: int, block: int, strip: int
) -> None:
    rng = np.random.default_rng(seed)
    image_of = ragged(rng, images, extra)
    image_emb, text_emb = whole_numbers(rng, images, dim), whole_numbers(rng, len(image_of), dim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "STRIP", strip)
        patch.setattr(scorers, "PAIRS_AT_ONCE", strip)
        found = ranks(InnerProduct(image_emb, text_emb), image_of)
    assert_same(found, naive(image_emb @ text_emb.T, image_of))


def test_equals_the_naive_loop_on_unit_vectors_and_over_several_blocks() -> None:
    rng = np.random.default_rng(1)
    image_of = ragged(rng, 70, 90)
    image_emb = rng.standard_normal((70, 16), dtype=np.float32)
    image_emb /= np.linalg.norm(image_emb, axis=1, keepdims=True)
    text_emb = image_emb[image_of] + rng.standard_normal((160, 16), dtype=np.float32) / np.float32(3)
    text_emb /= np.linalg.norm(text_emb, axis=1, keepdims=True)
    expected = naive(image_emb.astype(np.float64) @ text_emb.T.astype(np.float64), image_of)
    assert 0 < (expected.t2i == 0).sum() < 160
    assert_same(ranks(InnerProduct(image_emb, text_emb), image_of), expected)


def test_counts_of_several_full_strips_add_up() -> None:
    rng = np.random.default_rng(2)
    image_emb = rng.standard_normal((520, 24), dtype=np.float32)
    image_of = ragged(rng, 520, 30)
    found = ranks(InnerProduct(image_emb, image_emb[image_of]), image_of)
    scores = image_emb.astype(np.float64) @ image_emb[image_of].T
    right = np.arange(520)[:, None] == image_of
    own = scores.max(axis=1, where=right, initial=-np.inf)
    np.testing.assert_array_equal(found.i2t, ((scores > own[:, None]) & ~right).sum(axis=1))
    np.testing.assert_array_equal(found.t2i, ((scores > own[image_of]) & ~right).sum(axis=0))


def test_a_collapsed_model_is_last_everywhere() -> None:
    rng = np.random.default_rng(3)
    point = rng.standard_normal((1, 300), dtype=np.float32)
    point /= np.linalg.norm(point)
    image_of = np.repeat(np.arange(40), 5)
    found = ranks(InnerProduct(np.repeat(point, 40, axis=0), np.repeat(point, 200, axis=0)), image_of)
    assert (found.i2t == 195).all()
    assert (found.t2i == 39).all()


def test_a_twin_of_the_right_image_counts_against() -> None:
    rng = np.random.default_rng(4)
    image_emb = rng.standard_normal((50, 257), dtype=np.float32)
    image_emb /= np.linalg.norm(image_emb, axis=1, keepdims=True)
    image_emb[31] = image_emb[2]
    found = ranks(InnerProduct(image_emb, image_emb.copy()), np.arange(50))
    twins = np.isin(np.arange(50), [2, 31])
    np.testing.assert_array_equal(found.t2i, twins.astype(int))
    np.testing.assert_array_equal(found.i2t, twins.astype(int))


def test_a_difference_below_the_tolerance_is_a_tie_and_one_above_is_not() -> None:
    for gap, rank in ((0.4e-6, 1), (3e-6, 0)):
        scores = np.array([[0.5, 0.1], [0.5 - gap, 0.9]], dtype=np.float32)
        found = ranks(ScoreMatrix(scores), np.arange(2))
        assert found.t2i.tolist() == [rank, 0]


def test_the_best_of_several_captions_counts() -> None:
    scores = np.array([[0.1, 0.9, 0.8, 0.7], [0.3, 0.2, 0.4, 0.6]], dtype=np.float32)
    found = ranks(ScoreMatrix(scores), np.array([0, 0, 1, 1]))
    assert found.i2t.tolist() == [0, 0]
    assert found.t2i.tolist() == [1, 0, 1, 1]


def test_any_function_can_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorers, "TEXTS_AT_ONCE", 17)
    monkeypatch.setattr(scorers, "DIAGONAL", 9)
    rng = np.random.default_rng(5)
    image_of = ragged(rng, 30, 40)
    image_emb, text_emb = np.abs(whole_numbers(rng, 30, 5)), np.abs(whole_numbers(rng, 70, 5))

    def order(left: Floats, right: Floats) -> Floats:
        gap = np.maximum(0, right[None] - left[:, None])
        return np.asarray(-(gap**2).sum(axis=2), dtype=np.float32)

    found = ranks(FunctionScores(order, image_emb, text_emb), image_of)
    assert_same(found, naive(order(image_emb, text_emb), image_of))


def test_an_ensemble_ranks_by_the_mean_of_the_score_matrices() -> None:
    rng = np.random.default_rng(6)
    image_of = ragged(rng, 25, 30)
    sides = [(whole_numbers(rng, 25, dim), whole_numbers(rng, 55, dim)) for dim in (3, 7)]
    mean = np.mean([image @ text.T for image, text in sides], axis=0)
    both = MeanScores([InnerProduct(*side) for side in sides])
    np.testing.assert_allclose(both.block(EVERY, EVERY), mean, rtol=1e-6)
    assert_same(ranks(both, image_of), naive(mean, image_of))
    joined = InnerProduct(*(np.concatenate(side, axis=1) / np.sqrt(2) for side in zip(*sides, strict=True)))
    np.testing.assert_allclose(joined.block(EVERY, EVERY), mean, rtol=1e-5, atol=1e-5)


def test_part_of_an_ensemble_is_the_ensemble_of_parts() -> None:
    rng = np.random.default_rng(7)
    sides = [(whole_numbers(rng, 8, 4), whole_numbers(rng, 12, 4)) for _ in range(3)]
    both = MeanScores(
        [FunctionScores(lambda a, b: a @ b.T, *sides[0]), *(InnerProduct(*s) for s in sides[1:])]
    )
    part = both.take(slice(2, 6), np.array([11, 0, 5]))
    assert part.shape == (4, 3)
    whole = both.block(EVERY, EVERY).copy()
    np.testing.assert_array_equal(part.block(EVERY, EVERY), whole[2:6][:, [11, 0, 5]])


def test_scores_that_are_no_numbers_never_help() -> None:
    scores = np.array([[0.9, np.nan, 0.1], [0.2, 0.8, np.nan], [0.1, 0.1, 0.7]], dtype=np.float32)
    found = ranks(ScoreMatrix(scores), np.arange(3))
    assert found.i2t.tolist() == [1, 1, 0]
    assert found.t2i.tolist() == [0, 1, 1]


def test_a_right_answer_without_a_finite_score_is_rejected() -> None:
    scores = np.array([[np.nan, 0.1], [0.2, 0.8]], dtype=np.float32)
    with pytest.raises(UserError, match=r"1 of 2 captions have no finite score .* diverged"):
        ranks(ScoreMatrix(scores), np.arange(2))


@pytest.mark.parametrize(
    ("image_of", "message"),
    [([0, 1], "shape"), ([0, 1, 3], "within"), ([0, -1, 1], "within"), ([0, 0, 2], "image 1 has no caption")],
)
def test_a_map_that_does_not_fit_is_rejected(image_of: list[int], message: str) -> None:
    scorer = InnerProduct(np.zeros((3, 2), dtype=np.float32), np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=message):
        ranks(scorer, np.asarray(image_of))


def test_a_function_with_scores_of_another_shape_is_rejected() -> None:
    scorer = FunctionScores(lambda i, t: (i @ t.T).T, np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"expected scores \(3, 4\), got \(4, 3\)"):
        scorer.block(EVERY, EVERY)


def test_sides_of_different_dimension_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"\(3, 2\) and \(3, 4\)"):
        InnerProduct(np.zeros((3, 2), dtype=np.float32), np.zeros((3, 4), dtype=np.float32))
    with pytest.raises(ValueError, match="one shape"):
        MeanScores([InnerProduct(*[np.zeros((n, 2), dtype=np.float32)] * 2) for n in (3, 4)])
