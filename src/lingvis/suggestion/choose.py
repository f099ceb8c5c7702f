"""So many pictures out of all: one of each kind that has no annotated picture yet, the largest kinds first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lingvis.suggestion.clusters import cluster

NEIGHBOURS = 20  # a picture is typical when so many others are near it

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def choose(
    vectors: Floats,
    count: int,
    *,
    known: Ints,
    uncertain: Floats | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> Ints:
    """Rows to annotate next, best first, [count].

    vectors: one a picture [n, dim]. known: rows that are annotated. uncertain: how unsure a model is of each, from
    0 to 1; None: no model. There are as many clusters as there will be annotated pictures (Hacohen et al. 2022,
    "typical clustering"): the budget goes to clusters without an annotated picture, largest first, and in each to
    the row with the highest typicality * (1 + uncertainty); typicality: mean cosine to its nearest neighbours
    in the cluster.
    """
    members, _ = cluster(vectors, min(count + len(known), len(vectors)), seed=seed, device=device)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-12)
    weight = np.ones(len(vectors), np.float32) if uncertain is None else 1 + uncertain
    taken = np.zeros(len(vectors), bool)
    taken[known] = True
    groups = _groups(members)
    chosen: list[int] = []
    while len(chosen) < count and not taken.all():
        covered = {cell: int(taken[rows].sum()) for cell, rows in groups.items()}
        # Clusters with the fewest annotated pictures first, of those the largest.
        order = sorted(groups, key=lambda cell: (covered[cell], -len(groups[cell])))
        least = covered[order[0]]
        for cell in order:
            free = groups[cell][~taken[groups[cell]]]
            if len(chosen) == count or covered[cell] > least:
                break
            if len(free):
                best = free[np.argmax(_typicality(unit, free, groups[cell]) * weight[free])]
                taken[best] = True
                chosen.append(int(best))
        groups = {cell: rows for cell, rows in groups.items() if not taken[rows].all()}
    return np.asarray(chosen, np.int64)


def _groups(members: Ints) -> dict[int, Ints]:
    order = np.argsort(members, kind="stable")
    cells, starts = np.unique(members[order], return_index=True)
    return dict(zip(cells.tolist(), np.split(order, starts[1:]), strict=True))


def _typicality(unit: Floats, rows: Ints, cluster_rows: Ints) -> Floats:
    """Mean cosine of each row to its nearest neighbours in the cluster, itself left out; 1 for one alone."""
    if len(cluster_rows) == 1:
        return np.ones(len(rows), np.float32)
    scores = unit[rows] @ unit[cluster_rows].T
    scores[rows[:, None] == cluster_rows] = -np.inf
    near = min(NEIGHBOURS, len(cluster_rows) - 1)
    mean: Floats = np.sort(scores, axis=1)[:, -near:].mean(axis=1)
    return mean
