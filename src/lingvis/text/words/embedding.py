"""One learned vector per word."""

from __future__ import annotations

from torch import nn

from lingvis.bounds import Count
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.words.base import WORDS, WordPart
from lingvis.types import TextBatch, Tokens

REACH = 0.1  # largest absolute value of a random start


@WORDS.register("embedding", "one learned vector per word of the vocabulary")
class WordEmbedding(WordPart):
    """ids [B, L] -> [B, L, dim], initialised U(-REACH, REACH) as in VSE++; the padding vector stays zero."""

    def __init__(self, *, vocabulary: Vocabulary, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.table = nn.Embedding(vocabulary.size, dim, padding_idx=vocabulary.pad)
        nn.init.uniform_(self.table.weight, -REACH, REACH)
        self.table.weight.data[vocabulary.pad].zero_()

    def forward(self, batch: TextBatch) -> Tokens:
        return batch.tokens(self.table(batch.ids))
