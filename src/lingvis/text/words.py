"""Token ids -> Tokens: one vector a word, before any context."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lingvis.config import Count
from lingvis.errors import UserError
from lingvis.registry import Registry
from lingvis.text.tokenizers import Vocabulary
from lingvis.types import TextBatch, Tokens

WORDS: Registry[type[nn.Module]] = Registry("word part")
REACH = 0.1  # of the numbers that a vector starts from


@WORDS.register("embedding", "a learned vector for each word of the vocabulary")
class WordEmbedding(nn.Module):
    """ids [B, L] -> [B, L, dim], initialised U(-REACH, REACH) as in VSE++; the padding vector stays zero."""

    def __init__(self, *, vocabulary: Vocabulary, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.table = nn.Embedding(vocabulary.size, dim, padding_idx=vocabulary.pad)
        nn.init.uniform_(self.table.weight, -REACH, REACH)
        self.table.weight.data[vocabulary.pad].zero_()

    def forward(self, batch: TextBatch) -> Tokens:
        return Tokens(self.table(batch.ids), batch.mask, batch.runs)


@WORDS.register("pretrained", "the same, starting from stored word vectors (data.vectors)")
class PretrainedEmbedding(WordEmbedding):
    """As above, but every word with a stored vector starts there, scaled as a whole to the spread of the others.

    vectors: float32 [vocabulary.size, dim], zeros for words without one.
    """

    def __init__(
        self, *, vocabulary: Vocabulary, dim: Count, vectors: NDArray[np.float32] | None = None
    ) -> None:
        super().__init__(vocabulary=vocabulary, dim=dim)
        if vectors is None:  # weights are loaded later
            return
        if vectors.shape[1] != dim:
            raise UserError(
                f"text.words.dim is {dim}, but the stored word vectors have {vectors.shape[1]} values; "
                f"set text.words.dim = {vectors.shape[1]}"
            )
        found = torch.from_numpy(vectors)
        known = found.ne(0).any(dim=1)
        if known.any():
            weights = self.table.weight.data
            weights[known] = found[known] * (REACH / 3**0.5 / found[known].std())
