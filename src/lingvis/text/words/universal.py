"""MULE's universal layer: pretrained vectors of each language into one space of words."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.bounds import Count
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.space import WordSpace, check_blocks, check_vectors
from lingvis.types import TextBatch, Tokens


@WORDS.register("universal", "pretrained vectors through one linear layer a language (EmbN, PAR EmbN, MULE)")
class UniversalWords(WordPart):
    """ids [B, L] -> [B, L, dim]: a vector for each word, then its language's linear layer (Kim et al. 2020).

    vectors: where the table starts, float32 [vocabulary.size, vector_dim], zeros for words without one, which
    start random; None when a saved model is loaded. Smaller ones by PCA give SMALR's baseline. tune: whether
    the table is trained. Special tokens belong to no language: they have vectors of the universal space.
    """

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        vectors: NDArray[np.float32] | None = None,
        vector_dim: Count,
        dim: Count,
        tune: bool = True,
    ) -> None:
        super().__init__()
        check_blocks(vocabulary, "universal")
        self.dim = dim
        special = len(vocabulary.special)
        start = None
        if vectors is not None:
            start = check_vectors(torch.from_numpy(vectors), vocabulary, vector_dim)[special:]
        self.space = WordSpace(
            shared=special,
            own=[behind - first for first, behind in vocabulary.blocks],
            vector_dim=vector_dim,
            dim=dim,
            vectors=start,
            lender=vocabulary.lender,
        )
        self.space.vectors.requires_grad_(tune)

    @property
    def per_language(self) -> bool:
        """One linear layer per language."""
        return True

    @property
    def table_values(self) -> int:
        """Number of values of the table that a deployed model looks words up in."""
        return self.space.table_values

    def forward(self, batch: TextBatch) -> Tokens:
        # Ids are row numbers: special tokens come first, then the blocks.
        return Tokens(self.space(batch.ids, batch.runs), batch.mask, batch.runs)
