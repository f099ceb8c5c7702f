"""Token ids -> Tokens: one vector a word, before any context."""

from __future__ import annotations

from torch import nn

from lingvis.config import Count
from lingvis.registry import Registry
from lingvis.text.tokenizers import Vocabulary
from lingvis.types import TextBatch, Tokens

WORDS: Registry[type[nn.Module]] = Registry("word part")


@WORDS.register("embedding", "a learned vector for each word of the vocabulary")
class WordEmbedding(nn.Module):
    """ids [B, L] -> [B, L, dim], initialised U(-0.1, 0.1) as in VSE++; the padding vector stays zero."""

    def __init__(self, *, vocabulary: Vocabulary, dim: Count) -> None:
        super().__init__()
        self.dim = dim
        self.table = nn.Embedding(vocabulary.size, dim, padding_idx=vocabulary.pad)
        nn.init.uniform_(self.table.weight, -0.1, 0.1)
        self.table.weight.data[vocabulary.pad].zero_()

    def forward(self, batch: TextBatch) -> Tokens:
        return Tokens(self.table(batch.ids), batch.mask, batch.runs)
