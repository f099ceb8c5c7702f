"""The largest inner products of some vectors with all vectors of a language, computed in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

# Scores of one block, 512 x 8192 float32, are 16 MB; ranking makes a few copies of them.
QUERIES, TABLE = 512, 8192


def blocks(count: int, size: int = QUERIES) -> Iterator[slice]:
    """Slices of at most `size` that cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def top_k(
    queries: Tensor, table: Tensor, k: int, *, scale: Tensor | None = None, less: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The k best rows of table [n, d] for each of queries [q, d]: scores and row numbers, [q, k], best first.

    A score is the inner product, times scale [n] if given, minus less [n] if given; k is cut to n.
    Pass a few hundred queries at a time: the table is cut into blocks, the queries are not.
    """
    k = min(k, len(table))
    best = queries.new_empty(len(queries), 0)
    rows = torch.empty(len(queries), 0, dtype=torch.int64, device=queries.device)
    for part in blocks(len(table), TABLE):
        scores = queries @ table[part].T
        if scale is not None:
            scores *= scale[part]
        if less is not None:
            scores -= less[part]
        values, places = scores.topk(min(k, scores.shape[1]), dim=1)
        best, chosen = torch.cat([best, values], dim=1).topk(min(k, best.shape[1] + values.shape[1]), dim=1)
        rows = torch.cat([rows, places + part.start], dim=1).gather(1, chosen)
    return best, rows
