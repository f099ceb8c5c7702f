"""Which pictures are suggested: on made-up kinds of pictures, where the right answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from lingvis.suggestion import choose, cluster

KINDS, EACH, DIM = 6, 30, 16


def pictures(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors around orthogonal directions, the first kinds larger; row -> kind."""
    generator = np.random.default_rng(seed)
    sizes = [EACH + 5 * (KINDS - kind) for kind in range(KINDS)]
    kinds = np.repeat(np.arange(KINDS), sizes)
    vectors = np.eye(DIM)[kinds] + 0.05 * generator.standard_normal((len(kinds), DIM))
    return vectors.astype(np.float32), kinds


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
