"""Vectors of words of a known language in a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lingvis.arrays import Floats
from lingvis.model.dual_encoder import masked_mean
from lingvis.model.embedder import BATCH, Embedder
from lingvis.text.bank import TokenBank
from lingvis.text.vectors.table import WordTable


@dataclass(frozen=True, slots=True)
class WordPoints:
    """Words with their vectors [words, dim], and the vectors of the tokens before and after a sentence [dim]."""

    table: WordTable
    first: Floats
    last: Floats


def word_points(embedder: Embedder, words: Sequence[str], lang: str) -> WordPoints:
    """The vectors of words without context: each word is encoded as a sentence."""
    text = embedder.model.text
    bank = TokenBank(
        tokenizer=embedder.tokenizer,
        texts=words,
        langs=[lang] * len(words),
        languages=embedder.trained,
        device=embedder.device,
    )
    vectors = []
    first = []
    last = []
    with torch.inference_mode():
        for start in range(0, len(words), BATCH):
            batch = bank.batch(np.arange(start, min(start + BATCH, len(words))))
            tokens = text.words(batch)
            is_word = batch.mask & ~torch.isin(batch.ids, text.special)
            is_word = torch.where(is_word.any(dim=1, keepdim=True), is_word, batch.mask)
            vectors.append(masked_mean(tokens, is_word))
            first.append(tokens.values[:, 0])
            end = (tokens.lengths - 1)[:, None, None].expand(-1, 1, tokens.values.shape[2])
            last.append(tokens.values.gather(1, end).squeeze(1))
    values = torch.cat(vectors).float().cpu().numpy()
    edges = [torch.cat(token).mean(dim=0).float().cpu().numpy() for token in (first, last)]
    return WordPoints(WordTable(list(words), values), *edges)
