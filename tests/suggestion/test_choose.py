"""Which pictures are suggested: on made-up kinds of pictures, where the right answer is known."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from lingvis.suggestion import choose as choose_rows
from lingvis.suggestion import cluster, standing_out, uncertainty

KINDS, EACH, DIM = 6, 30, 16


def pictures(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors around orthogonal directions, the first kinds larger; row -> kind."""
    generator = np.random.default_rng(seed)
    sizes = [EACH + 5 * (KINDS - kind) for kind in range(KINDS)]
    kinds = np.repeat(np.arange(KINDS), sizes)
    vectors = np.eye(DIM)[kinds] + 0.05 * generator.standard_normal((len(kinds), DIM))
    return vectors.astype(np.float32), kinds


def choose(vectors: np.ndarray, count: int, **options: Any) -> np.ndarray:
    """The rows alone."""
    return np.array([each.row for each in choose_rows(vectors, count, **options)])


def test_clusters_are_the_kinds() -> None:
    vectors, kinds = pictures()
    members, centres = cluster(vectors, KINDS, seed=1)
    for kind in range(KINDS):
        (cell,) = set(members[kinds == kind].tolist())
        mean = vectors[kinds == kind].sum(axis=0)
        assert centres[cell] @ mean / np.linalg.norm(mean) == pytest.approx(1, abs=1e-4)
    assert len(set(members.tolist())) == KINDS


def test_one_of_each_kind_and_the_most_typical() -> None:
    vectors, kinds = pictures()
    chosen = choose(vectors, KINDS, known=np.empty(0, np.int64))
    assert sorted(kinds[chosen]) == list(range(KINDS))
    assert kinds[chosen[0]] == 0  # the largest first
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for row in chosen:
        rows = np.flatnonzero(kinds == kinds[row])

        def typical(one: int, rows: np.ndarray = rows) -> float:
            return float(np.mean(sorted(unit[other] @ unit[one] for other in rows if other != one)[-20:]))

        assert typical(int(row)) == pytest.approx(max(typical(int(each)) for each in rows), abs=1e-6)


def test_kinds_that_are_annotated_already_come_later() -> None:
    vectors, kinds = pictures()
    known = np.array([int(np.flatnonzero(kinds == kind)[0]) for kind in (0, 1, 2)])
    chosen = choose(vectors, 3, known=known)
    assert sorted(kinds[chosen]) == [3, 4, 5]
    assert not set(chosen.tolist()) & set(known.tolist())


def test_of_two_alike_the_uncertain_one() -> None:
    vectors = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    uncertain = np.zeros(10, np.float32)
    uncertain[[3, 8]] = 0.5
    assert set(choose(vectors, 2, known=np.empty(0, np.int64), uncertain=uncertain).tolist()) == {3, 8}


def test_never_the_same_twice_and_never_more_than_there_are() -> None:
    vectors, _ = pictures()
    known = np.arange(10)
    chosen = choose(vectors, len(vectors), known=known)
    assert sorted([*chosen.tolist(), *known.tolist()]) == list(range(len(vectors)))
    assert (choose(vectors, 20, known=known, seed=5) == choose(vectors, 20, known=known, seed=5)).all()


def test_reasons_tell_how_many_are_alike_and_annotated() -> None:
    vectors, kinds = pictures()
    sizes = np.bincount(kinds)
    found = choose_rows(vectors, KINDS, known=np.empty(0, np.int64))
    assert [each.alike for each in found] == [int(sizes[kinds[each.row]]) for each in found]
    assert [each.annotated for each in found] == [0] * KINDS
    assert all(0.9 < each.typicality < 1 for each in found)
    # Copies of one picture are one kind, however many clusters are asked for; the lone picture comes first.
    few = np.concatenate([np.tile(np.eye(2, dtype=np.float32)[:1], (6, 1)), np.eye(2, dtype=np.float32)[1:]])
    later = choose_rows(few, 3, known=np.array([0]))
    assert later[0].row == 6
    assert (later[0].alike, later[0].annotated, later[0].typicality) == (1, 0, 1.0)


def test_kinds_are_limited_and_the_budget_goes_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("lingvis.suggestion.choose"), "MOST_KINDS", KINDS)
    vectors, kinds = pictures()
    found = choose_rows(vectors, 2 * KINDS + 1, known=np.empty(0, np.int64))
    assert [each.annotated for each in found] == [0] * KINDS + [1] * KINDS + [2]
    assert np.bincount(kinds[[each.row for each in found]]).tolist() == [3, 2, 2, 2, 2, 2]
    assert len({each.row for each in found}) == 2 * KINDS + 1


def test_what_stands_out_is_sure() -> None:
    scores = np.array(
        [
            [0.9, 0.1, 0.1, 0.1],  # one caption fits
            [0.5, 0.5, 0.4, 0.4],  # all fit a little
            [0.9, 0.8, 0.1, 0.1],  # two that say the same
            [0.3, 0.3, 0.3, 0.3],  # nothing to tell them apart
        ],
        np.float32,
    )
    standing = standing_out(4, lambda part: scores[part])
    for row, value in zip(scores.astype(np.float64), standing, strict=True):
        expected = (row.max() - row.mean()) / row.std() if np.ptp(row) else 0.0
        assert value == pytest.approx(expected, rel=1e-5)
    assert uncertainty(standing).tolist() == pytest.approx([0, 2 / 3, 1 / 3, 1])
    # A model that gives all scores on another scale is as sure as before.
    again = standing_out(4, lambda part: 7 * scores[part] - 3)
    np.testing.assert_allclose(uncertainty(again), uncertainty(standing))


def test_uncertainty_of_ties_and_of_one() -> None:
    assert uncertainty(np.array([2, 2, 1], np.float32)).tolist() == [0, 0, 1]
    assert uncertainty(np.array([2], np.float32)).tolist() == [0]


def test_many_pictures_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("lingvis.suggestion.uncertainty"), "BLOCK", 3)
    scores = np.random.default_rng(0).random((8, 5)).astype(np.float32)
    sizes: list[int] = []

    def some(part: slice) -> np.ndarray:
        sizes.append(len(scores[part]))
        return scores[part]

    found = standing_out(8, some)
    assert sizes == [3, 3, 2]
    np.testing.assert_allclose(found, (scores.max(1) - scores.mean(1)) / scores.std(1), rtol=1e-5)
