"""Similarities of pooled vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lingvis.bounds import Count
from lingvis.similarity.base import SIMILARITIES, Similarity


@SIMILARITIES.register("cosine", "inner product of unit vectors; works with a nearest-neighbour index")
class Cosine(Similarity):
    """image_emb [I, D], text_emb [T, D], both prepared -> scores [I, T]."""

    indexable = True
    pooled = True

    def prepare_images(self, side: Tensor) -> Tensor:
        """Unit length."""
        return F.normalize(side.float(), dim=-1)

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        return image_emb @ text_emb.T


@SIMILARITIES.register("order", "order embedding: a sentence is above the pictures it describes")
class Order(Similarity):
    """scores[i, t] = -||max(0, text_t - image_i)||, Vendrov et al. 2016, as used by VSE++'s order variant.

    Embeddings are absolute values of unit vectors. rows: number of pictures to compare at once, which bounds the memory
    of the differences [rows, T, D].
    """

    indexable = False
    pooled = True

    def __init__(self, *, rows: Count = 32) -> None:
        super().__init__()
        self.rows = rows

    def prepare_images(self, side: Tensor) -> Tensor:
        """Unit length, then absolute values."""
        return F.normalize(side.float(), dim=-1).abs()

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        return torch.cat([self._block(block, text_emb) for block in torch.split(image_emb, self.rows)])

    @staticmethod
    def _block(image_emb: Tensor, text_emb: Tensor) -> Tensor:
        above = (text_emb.unsqueeze(0) - image_emb.unsqueeze(1)).clamp(min=0)
        # The root has no gradient at zero; the floor keeps it finite.
        return -above.square().sum(-1).clamp(min=1e-12).sqrt()
