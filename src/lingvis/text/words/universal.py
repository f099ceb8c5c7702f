"""MULE's universal layer: pretrained vectors of each language into one space of words."""

from __future__ import annotations

import torch
from torch import Tensor

from lingvis.arrays import Floats
from lingvis.bounds import Count
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.text.words.space import WordSpace, check_blocks, check_vectors
from lingvis.types import TextBatch, Tokens


@WORDS.register(
    "universal", "pretrained vectors through one linear layer per language (EmbN, PAR EmbN, MULE)"
)
class UniversalWords(WordPart):
    """ids [B, L] -> [B, L, dim]: one vector per word, then the linear layer of its language (Kim et al. 2020).

    vectors: the initial table, float32 [vocabulary.size, vector_dim], zeros for words without a vector, which start
    from random values; None when a saved model is loaded. SMALR's baseline has vectors reduced by PCA. tune: whether
    the table is trained. Special tokens belong to no language: they have vectors of the universal space.
    """

    def __init__(
        self,
        *,
        vocabulary: Vocabulary,
        vectors: Floats | None = None,
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
            own=[end - first for first, end in vocabulary.blocks],
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
        """Number of values in the word table of a deployed model."""
        return self.space.table_values

    @property
    def trained_vectors(self) -> Tensor | None:
        """The vectors of all words."""
        return self.space.vectors

    def forward(self, batch: TextBatch) -> Tokens:
        # Ids are row numbers: special tokens come first, then the blocks.
        return batch.tokens(self.space(batch.ids, batch.runs, batch.languages))
