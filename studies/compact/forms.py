"""Shorter forms of embeddings: first values, a projection, eight bits, signs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Change = Callable[[Tensor], Tensor]
LEVELS = 127  # of a signed byte, above zero


@dataclass(frozen=True, slots=True)
class CompactForm:
    """How embeddings are stored: `shorten` changes both sides, `store` pictures alone; size: bytes per picture."""

    name: str
    dim: int
    size: int
    shorten: Change
    store: Change

    def pictures(self, image_emb: Tensor) -> Tensor:
        """Embeddings as a collection gives them back, float32 [pictures, dim]."""
        return self.store(self.shorten(image_emb))

    def sentences(self, text_emb: Tensor) -> Tensor:
        """Embeddings of queries, float32 [sentences, dim]."""
        return self.shorten(text_emb)


def compact_forms(train_emb: Tensor, dims: Sequence[int]) -> Iterator[CompactForm]:
    """All forms of the lengths `dims`; train_emb: pictures [N, D] whose singular vectors are the projection."""
    directions = torch.linalg.svd(train_emb, full_matrices=False).Vh.T
    for dim in dims:
        first = _first_values(dim)
        yield CompactForm("first values", dim, 4 * dim, first, _unchanged)
        yield CompactForm("first values, int8", dim, dim + 4, first, eight_bits)
        yield CompactForm("first values, signs", dim, -(-dim // 8), first, signs)
        if dim <= directions.shape[1] and dim < train_emb.shape[1]:  # all directions are a rotation
            yield CompactForm("SVD", dim, 4 * dim, _projection(directions[:, :dim]), _unchanged)


def eight_bits(emb: Tensor) -> Tensor:
    """Values rounded to signed bytes with one scale per row."""
    scale = emb.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / LEVELS
    return (emb / scale).round() * scale


def signs(emb: Tensor) -> Tensor:
    """The sign of each value, scaled to unit length."""
    return torch.where(emb >= 0, 1.0, -1.0) / math.sqrt(emb.shape[1])


def _unchanged(emb: Tensor) -> Tensor:
    return emb


def _first_values(dim: int) -> Change:
    return lambda emb: F.normalize(emb[:, :dim], dim=1)


def _projection(directions: Tensor) -> Change:
    return lambda emb: F.normalize(emb @ directions, dim=1)
