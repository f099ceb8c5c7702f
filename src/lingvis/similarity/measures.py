"""Scores of every picture against every sentence."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.registry import Registry

SIMILARITIES: Registry[type[nn.Module]] = Registry("similarity")


@SIMILARITIES.register("cosine", "inner product of unit vectors; serves a nearest-neighbour index")
class Cosine(nn.Module):
    """image_emb [I, D], text_emb [T, D], both prepared -> scores [I, T]."""

    indexable = True
    pooled = True

    def prepare_images(self, emb: Tensor) -> Tensor:
        """Pooled vectors -> what is stored: unit length."""
        return F.normalize(emb.float(), dim=-1)

    def prepare_texts(self, emb: Tensor) -> Tensor:
        """As for images."""
        return F.normalize(emb.float(), dim=-1)

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        return image_emb @ text_emb.T


@SIMILARITIES.register("order", "order embedding: a sentence lies above the pictures it describes")
class Order(nn.Module):
    """scores[i, t] = -||max(0, text_t - image_i)||, Vendrov et al. 2016, as used by VSE++'s order variant.

    Embeddings are absolute values of unit vectors. `rows` pictures are compared at a time, so that the
    [rows, T, D] differences stay small.
    """

    indexable = False
    pooled = True

    def __init__(self, *, rows: Count = 32) -> None:
        super().__init__()
        self.rows = rows

    def prepare_images(self, emb: Tensor) -> Tensor:
        """Unit length, then absolute values."""
        return F.normalize(emb.float(), dim=-1).abs()

    def prepare_texts(self, emb: Tensor) -> Tensor:
        """As for images."""
        return self.prepare_images(emb)

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        return torch.cat([self._block(block, text_emb) for block in torch.split(image_emb, self.rows)])

    @staticmethod
    def _block(image_emb: Tensor, text_emb: Tensor) -> Tensor:
        above = (text_emb.unsqueeze(0) - image_emb.unsqueeze(1)).clamp(min=0)
        # The root has no gradient at zero; the floor keeps it finite.
        return -above.square().sum(-1).clamp(min=1e-12).sqrt()
