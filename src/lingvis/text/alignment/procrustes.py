"""The orthogonal map with the smallest distance between matched vectors (Procrustes)."""

from __future__ import annotations

import torch
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.text.alignment.neighbours import blocks


def procrustes(source: Floats, target: Floats) -> Floats:
    """The orthogonal matrix M [d, d] with the least sum of |Ma - b|² over matched rows [n, d] of both.

    It acts on columns, so mapped = vectors @ M.T. It is UVᵀ of the singular value decomposition BᵀA = USVᵀ
    (Schönemann 1966).
    """
    rows = torch.arange(len(source)).repeat(2, 1).T
    return orthogonal(torch.from_numpy(source), torch.from_numpy(target), rows).numpy()


def orthogonal(source: Tensor, target: Tensor, pairs: Tensor) -> Tensor:
    """The same as `procrustes`, for pairs of rows of the two tables, int64 [n, 2]."""
    dim = source.shape[1]
    cross = torch.zeros(dim, dim, dtype=torch.float64, device=source.device)
    for block in blocks(len(pairs)):
        cross += (target[pairs[block, 1]].T @ source[pairs[block, 0]]).double()
    left, _, right = torch.linalg.svd(cross)
    matrix: Tensor = (left @ right).float()
    return matrix
