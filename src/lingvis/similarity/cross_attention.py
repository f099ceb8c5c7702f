"""Stacked cross attention: every word attends to the regions, or every region to the words (SCAN)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lingvis.bounds import Positive
from lingvis.recipes.schema import Recipe
from lingvis.similarity.base import SIMILARITIES, Similarity
from lingvis.types import Tokens

SHORTEST = 1e-6  # of an attended vector: keeps the cosine and its gradient finite


@SIMILARITIES.register("cross_attention", "stacked cross attention of regions and words (SCAN); no index")
class CrossAttention(Similarity):
    """image_emb [I, R, D], text_emb [T, W, D], both prepared -> scores [I, T]. Lee et al. 2018, section 3.1.

    direction t2i: each word is a query and attends to the regions (Eq. 7 to 9); i2t: each region attends to the
    words (Eq. 1 to 6). Negative cosines become 0, cosines are normalised over the queries, and the weights are a
    softmax over the context of lambda1 times the normalised cosines. The score is the mean, or a LogSumExp with
    lambda2, of the cosine of each query with its attended vector. The authors' code keeps a tenth of negative
    cosines; here they become 0, as in the paper.

    A prepared side holds unit vectors, and zeros at padded positions. block: the largest number of pairs of a region
    and a word to compare at once; in training with several blocks, each block is computed again for its
    gradient, to save memory.
    """

    indexable = False
    pooled = False

    def __init__(
        self,
        *,
        direction: Literal["t2i", "i2t"] = "t2i",
        lambda1: Positive = 9.0,
        aggregation: Literal["mean", "logsumexp"] = "mean",
        lambda2: Positive = 6.0,
        block: Annotated[int, Field(gt=0)] = 2**24,
    ) -> None:
        super().__init__()
        self.direction, self.lambda1 = direction, lambda1
        self.aggregation, self.lambda2, self.block = aggregation, lambda2, block

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """All vectors of both sides are compared: no part may pool them, and no term may need one vector per sentence."""
        plain = {
            "image.pooling.name": (recipe.image.pooling.name, "mean"),
            "text.pooling.name": (recipe.text.pooling.name, "mean"),
            "text.head.name": (recipe.text.head.name, "none"),
        }
        for place, (name, allowed) in plain.items():
            if name != allowed:
                yield (
                    f"{place} is {name}, but similarity cross_attention compares all vectors and never pools them; "
                    f"set {place} = {allowed}"
                )
        for name, term in recipe.terms.items():
            if term.options.get("on") == "sentence":
                yield (
                    f"terms.{name} compares sentences by one vector each, but similarity cross_attention makes none; "
                    "leave the term out, or set similarity.name = cosine"
                )

    def prepare_images(self, side: Tokens) -> Tensor:
        """Vectors of unit length, zero at padded positions, float32 [I, R, D]."""
        return F.normalize(side.values.float(), dim=-1).masked_fill(~side.mask.unsqueeze(-1), 0.0)

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        """image_emb [I, R, D] and text_emb [T, W, D] -> [I, T], block by block."""
        if self.direction == "t2i":
            return self._attend(text_emb, image_emb)
        return self._attend(image_emb, text_emb).T

    def _attend(self, queries: Tensor, context: Tensor) -> Tensor:
        """Queries [Q, q, D] and their context [C, c, D] -> scores [C, Q]."""
        pairs = queries.shape[1] * context.shape[1]
        rows = max(1, min(len(context), math.isqrt(self.block // pairs)))
        columns = max(1, self.block // (pairs * rows))
        right = torch.split(queries, columns)
        left = torch.split(context, rows)
        if len(left) * len(right) == 1 or not torch.is_grad_enabled():
            return torch.cat([torch.cat([self._block(q, c) for q in right], dim=1) for c in left])
        block = partial(checkpoint, self._block, use_reentrant=False, preserve_rng_state=False)
        return torch.cat([torch.cat([block(q, c) for q in right], dim=1) for c in left])

    def _block(self, queries: Tensor, context: Tensor) -> Tensor:
        relevance = attended_cosines(queries, context, self.lambda1)
        is_query = queries.any(dim=-1)
        if self.aggregation == "mean":
            return relevance.sum(-1) / is_query.sum(-1).clamp(min=1)  # padding has relevance zero
        lowest = torch.finfo(relevance.dtype).min
        return (self.lambda2 * relevance).masked_fill(~is_query, lowest).logsumexp(-1) / self.lambda2


def attended_cosines(queries: Tensor, context: Tensor, lambda1: float) -> Tensor:
    """Unit vectors [Q, q, D] and [C, c, D], zero where padded -> cosine of each query with its attended vector, [C, Q, q].

    The attended vectors, [C, Q, q, D], are never computed: with weights w, cosines s and the inner products G of the
    context, the product with the query is w.s and the length the root of w.G.w. Padding takes a share of the weights
    but adds zeros: it changes the length of the attended vector, not its direction, so the cosine stays the same.
    """
    sizes = (*context.shape[:2], *queries.shape[:2])
    cosines = context.flatten(0, 1) @ queries.flatten(0, 1).T
    sharpened = lambda1 * F.normalize(cosines.view(sizes).relu(), dim=3)
    weights = sharpened.flatten(2).softmax(dim=1)
    product = (weights * cosines.view_as(weights)).sum(dim=1)
    square = (weights * (context @ context.mT @ weights)).sum(dim=1)
    return (product / square.clamp(min=SHORTEST**2).sqrt()).view(sizes[0], *sizes[2:])
