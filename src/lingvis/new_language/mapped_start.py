"""Initial words from word vectors of the new language, mapped into the word space of the model (Translator, T2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from lingvis.arrays import Floats
from lingvis.model.embedder import Embedder
from lingvis.new_language.lexical.word_vectors import WordPoints
from lingvis.new_language.starts import WordStart, fresh_start
from lingvis.text.segment import words as split
from lingvis.text.tokenizers.base import END, MASK, START
from lingvis.text.vectors.pca import reduce
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import MANIFEST, WordVectors
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.training import train_vectors, usual_epochs
from lingvis.types import SpelledWords

SMALL = 0.001  # initial spread of n-grams: unused n-grams stay near zero
FIT_RATE = 0.02
FIT_STEPS = 300
FIT_WORDS = 1024


def source_vectors(
    texts: Sequence[str], lang: str, *, dim: int, vectors: Path | None, seed: int
) -> WordTable:
    """Word vectors of the language: from a file or a folder of stored vectors, or trained on its sentences."""
    sentences = [split(text, lang) for text in texts]
    if vectors is None:
        count = sum(map(len, sentences))
        return train_vectors(sentences, dim=dim, epochs=usual_epochs(count), seed=seed)
    if (vectors / MANIFEST).is_file():
        return WordVectors.open(vectors).table(lang)
    return read_vectors(vectors, dict.fromkeys(word for sentence in sentences for word in sentence))


def mapped_start(
    embedder: Embedder,
    lang: str,
    source: WordTable,
    target: WordPoints,
    dictionary: Mapping[str, tuple[str, ...]],
) -> WordStart:
    """N-grams fitted to the vectors of `source`, mapped so that words are close to their translations.

    The map is fitted on centred vectors of unit length; mapped vectors get the mean and the mean length of the model's
    word vectors.
    """
    from lingvis.text.alignment import fit_map, prepare

    dim = target.table.values.shape[1]
    sized = WordTable(source.words, _sized(source.values, dim))
    alignment = fit_map("rcsls", sized, target.table, dictionary, device=str(embedder.device))
    prepared = prepare(sized.values)
    known = np.flatnonzero(sized.values.any(axis=1))
    middle = target.table.values.mean(axis=0)
    length = float(np.linalg.norm(target.table.values - middle, axis=1).mean())
    values = middle + length * (prepared @ alignment.matrix.T)
    words = [sized.words[row] for row in known]
    start = fresh_start(words, lang, dim=dim, scale=SMALL)
    fit_ngrams(start, words, values[known], special={START: target.first, END: target.last, MASK: middle})
    return start


def fit_ngrams(
    start: WordStart, words: Sequence[str], values: Floats, *, special: Mapping[int, Floats]
) -> None:
    """Fit n-grams so that words have these vectors [words, dim]; special: the same for special tokens.

    So a word without a vector gets one from words with similar spelling, and the word part needs no table of words.
    """
    tokenizer = start.tokenizer
    letters = tokenizer.alphabet.spell(words, tokenizer.word_length)
    special_letters = np.zeros((len(special), tokenizer.word_length), np.int64)
    special_letters[:, 0] = list(special)
    inputs = torch.from_numpy(np.concatenate([special_letters, letters]))
    targets = torch.from_numpy(np.concatenate([np.stack(list(special.values())), values]).astype(np.float32))
    optimizer = torch.optim.Adam(start.words.parameters(), lr=FIT_RATE)
    draws = torch.Generator().manual_seed(0)
    for step in range(FIT_STEPS):
        rows = torch.randint(len(inputs), (FIT_WORDS,), generator=draws)
        rows[: len(special)] = torch.arange(len(special))  # few, and in every sentence
        for group in optimizer.param_groups:
            group["lr"] = FIT_RATE * (1 - step / FIT_STEPS)
        optimizer.zero_grad(set_to_none=True)
        error = start.words.compose(SpelledWords(rows, inputs[rows])) - targets[rows]
        error.square().sum(dim=1).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _sized(values: Floats, dim: int) -> Floats:
    """Vectors [words, any] as [words, dim]: fewer dimensions by PCA, more by zeros."""
    kept = min(values.shape[1], dim, len(values))
    reduced = reduce(values, kept) if kept < values.shape[1] else values
    return np.pad(reduced, ((0, 0), (0, dim - kept)))
