"""Similarities of pooled vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.similarity.base import SIMILARITIES, Similarity


@SIMILARITIES.register("cosine", "inner product of unit vectors; works with a nearest-neighbour index")
class Cosine(Similarity):
    """image_emb [I, D], text_emb [T, D], both prepared -> scores [I, T].

    dim: the length of the finished model's embeddings; 0 = that of the vectors. The training sees whole vectors. Then
    both sides are projected onto the main directions of the training pictures, the most important first: the first
    values of an embedding are useful alone.
    """

    indexable = True
    pooled = True
    directions: Tensor

    def __init__(self, *, input_dim: Count, dim: Annotated[int, Field(ge=0)] = 0) -> None:
        super().__init__()
        if dim > input_dim:
            raise UserError(
                f"similarity.dim is {dim}, but the vectors have {input_dim} values; choose at most {input_dim}"
            )
        self._short, self._is_short = dim, False
        if dim:
            self.register_buffer("directions", torch.zeros(input_dim, dim))  # zeros: not fitted yet
            self.register_load_state_dict_post_hook(_look_at_directions)  # type: ignore[no-untyped-call]

    def output_dim(self, dim: int) -> int:
        """Length of an embedding."""
        return self._short if self._is_short else dim

    def check_pictures(self, count: int) -> None:
        """Every direction needs a picture."""
        if count < self._short and not self._is_short:
            raise UserError(
                f"similarity.dim is {self._short}, but the dataset has only {count} training pictures, one per "
                f"direction at least; choose at most {count}, or 0 for whole vectors"
            )

    def finish(self, encode: Callable[[], Tensor]) -> None:
        """Fit the directions: those with the largest singular values, without centring, which scores do not have."""
        if not self._short or self._is_short:  # directions of another model stay
            return
        _, _, directions = torch.linalg.svd(encode().double(), full_matrices=False)
        self.directions.copy_(directions[: self._short].T)
        self._is_short = True

    def prepare_images(self, side: Tensor) -> Tensor:
        """Unit length."""
        vectors = side.float()
        if self._is_short:
            with torch.autocast(vectors.device.type, enabled=False):
                vectors = vectors @ self.directions
        return F.normalize(vectors, dim=-1)

    def forward(self, image_emb: Tensor, text_emb: Tensor) -> Tensor:
        return image_emb @ text_emb.T


def _look_at_directions(cosine: nn.Module, keys: object) -> None:
    """Shorten the embeddings if the loaded directions were fitted."""
    assert isinstance(cosine, Cosine)
    cosine._is_short = bool(cosine.directions.any())


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
