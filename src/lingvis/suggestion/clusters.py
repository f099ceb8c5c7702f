"""Spherical k-means: unit vectors -> groups of similar direction."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from lingvis.arrays import Floats, Ints

ROUNDS = 25
BLOCK = 8192  # vectors compared with all centres at once


def cluster(vectors: Floats, count: int, *, seed: int, device: str = "cpu") -> tuple[Ints, Floats]:
    """The cluster of each vector [n], and the centres [count, dim], unit vectors.

    Centres start at vectors far from one another (k-means++) and move until no vector changes its
    cluster, for at most ROUNDS rounds. An empty cluster gets the vector that is farthest from its centre.
    """
    values = F.normalize(torch.from_numpy(vectors).to(device), dim=1)
    centres = _start(values, count, np.random.default_rng(seed))
    members = torch.full((len(values),), -1, device=device)
    for _ in range(ROUNDS):
        nearest, fit = _nearest(values, centres)
        if torch.equal(nearest, members):
            break
        members = nearest
        sums = torch.zeros_like(centres).index_add_(0, members, values)
        empty = torch.bincount(members, minlength=count) == 0
        if empty.any():
            sums[empty] = values[fit.argsort()[: int(empty.sum())]]
        centres = F.normalize(sums, dim=1)
    return members.cpu().numpy(), centres.cpu().numpy()


def _start(values: Tensor, count: int, generator: np.random.Generator) -> Tensor:
    """Greedy k-means++: candidates are drawn with probability proportional to the squared distance to the nearest
    centre so far, and the candidate with the smallest sum of remaining distances becomes the next centre."""
    chosen = [int(generator.integers(len(values)))]
    far = _distances(values, chosen).squeeze(1)
    tries = 2 + round(math.log(count))
    for _ in range(count - 1):
        reach = far.double().cumsum(0)
        drawn = torch.from_numpy(generator.random(tries) * float(reach[-1])).to(values.device)
        candidates = torch.searchsorted(reach, drawn).clamp(max=len(values) - 1).tolist()
        left = torch.minimum(far.unsqueeze(1), _distances(values, candidates))
        best = int(left.sum(dim=0).argmin())
        chosen.append(candidates[best])
        far = left[:, best]
    return values[chosen]


def _distances(values: Tensor, rows: list[int]) -> Tensor:
    """Squared distances of unit vectors to the given rows, [n, rows]."""
    return (2 - 2 * values @ values[rows].T).clamp(min=0)


def _nearest(values: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest centre of each vector, and its cosine."""
    nearest = [(part @ centres.T).max(dim=1) for part in values.split(BLOCK)]  # type: ignore[no-untyped-call]
    return torch.cat([part.indices for part in nearest]), torch.cat([part.values for part in nearest])
