"""Choose N pictures: one of each kind that has no annotated picture yet, the largest kinds first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.suggestion.clusters import cluster

NEIGHBOURS = 20  # number of near pictures that make a picture typical
MOST_KINDS = 2000  # more take long to compute, and hardly differ


@dataclass(frozen=True, slots=True)
class Choice:
    """A row to annotate, and why.

    alike: number of rows of its kind, including itself; annotated: number of these that are known or were chosen before;
    typicality: at most 1.
    """

    row: int
    alike: int
    annotated: int
    typicality: float


def choose(
    vectors: Floats,
    count: int,
    *,
    known: Ints,
    uncertain: Floats | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> list[Choice]:
    """Rows to annotate next, best first; fewer than `count` if there are no more.

    vectors: one per picture, [n, dim]. known: rows that are annotated. uncertain: the uncertainty of a model
    about each row, from 0 to 1; None: no model.

    There are as many clusters as there will be annotated pictures (Hacohen et al. 2022, "typical clustering"), up
    to a limit. The budget goes to clusters with the fewest annotated pictures, largest first, and in each to the
    row with the highest typicality * (1 + uncertainty); typicality: mean cosine to its nearest neighbours in the
    cluster.
    """
    kinds = min(count + len(known), len(vectors), MOST_KINDS)
    members, _ = cluster(vectors, kinds, seed=seed, device=device)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
    weight = np.ones(len(vectors), np.float32) if uncertain is None else 1 + uncertain
    taken = np.zeros(len(vectors), bool)
    taken[known] = True
    groups = {cell: rows for cell, rows in _groups(members).items() if not taken[rows].all()}
    chosen: list[Choice] = []
    while len(chosen) < count and groups:
        covered = {cell: int(taken[rows].sum()) for cell, rows in groups.items()}
        least = min(covered.values())
        # Clusters with the fewest annotated pictures first, then the largest.
        turn = sorted(
            (cell for cell in groups if covered[cell] == least), key=lambda cell: -len(groups[cell])
        )
        for cell in turn[: count - len(chosen)]:
            rows = groups[cell]
            free = rows[~taken[rows]]
            typical = _typicality(unit, free, rows)
            best = int(np.argmax(typical * weight[free]))
            taken[free[best]] = True
            chosen.append(Choice(int(free[best]), len(rows), least, float(typical[best])))
            if len(free) == 1:
                del groups[cell]
    return chosen


def _groups(members: Ints) -> dict[int, Ints]:
    order = np.argsort(members, kind="stable")
    cells, starts = np.unique(members[order], return_index=True)
    return dict(zip(cells.tolist(), np.split(order, starts[1:]), strict=True))


def _typicality(unit: Floats, rows: Ints, cluster_rows: Ints) -> Floats:
    """Mean cosine of each row to its nearest neighbours in the cluster, excluding itself; 1 for a cluster of one."""
    if len(cluster_rows) == 1:
        return np.ones(len(rows), np.float32)
    scores = unit[rows] @ unit[cluster_rows].T
    scores[rows[:, None] == cluster_rows] = -np.inf
    near = min(NEIGHBOURS, len(cluster_rows) - 1)
    mean: Floats = np.sort(scores, axis=1)[:, -near:].mean(axis=1)
    return mean
