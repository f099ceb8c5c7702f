"""Learned word vectors, initialised from stored vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.bounds import Count
from lingvis.errors import UserError
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS
from lingvis.text.words.embedding import REACH, WordEmbedding


@WORDS.register("pretrained", "one learned vector per word, starting from stored word vectors (data.vectors)")
class PretrainedEmbedding(WordEmbedding):
    """As `embedding`, but words start from stored vectors, scaled to the spread of the random vectors.

    vectors: float32 [vocabulary.size, dim], zeros for words without a vector.
    """

    def __init__(self, *, vocabulary: Vocabulary, dim: Count, vectors: Floats | None = None) -> None:
        super().__init__(vocabulary=vocabulary, dim=dim)
        if vectors is None:  # weights are loaded later
            return
        if vectors.shape[1] != dim:
            raise UserError(
                f"text.words.dim is {dim}, but the stored word vectors have {vectors.shape[1]} values; "
                f"set text.words.dim = {vectors.shape[1]}"
            )
        stored = torch.from_numpy(vectors)
        known = stored.ne(0).any(dim=1)
        if known.any():
            weights = self.table.weight.data
            weights[known] = stored[known] * (REACH / 3**0.5 / stored[known].std())

    @property
    def trained_vectors(self) -> Tensor:
        """The vectors of all words."""
        return self.table.weight
