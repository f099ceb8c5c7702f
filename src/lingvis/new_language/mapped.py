"""Word vectors of a new language, brought into the word space of the model by a map (Translator, T2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.model.embedder import Embedder
from lingvis.new_language.starts import Start, fresh
from lingvis.new_language.word_vectors import WordPoints
from lingvis.text.segment import words as split
from lingvis.text.tokenizers.base import END, MASK, START
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.vectors.pca import reduce
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import MANIFEST, WordVectors
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.training import train_vectors, usual_epochs
from lingvis.text.words.ngrams import HashedNgrams
from lingvis.types import SpelledWords

Floats = NDArray[np.float32]

SMALL = 0.001  # where n-grams start that no word has: they say nothing
FIT_RATE, FIT_STEPS, FIT_WORDS = 0.02, 300, 1024


def source_vectors(texts: Sequence[str], lang: str, *, dim: int, given: Path | None, seed: int) -> WordTable:
    """Vectors of the words of the language: from a file, from a folder of stored ones, or trained on its sentences."""
    sentences = [split(text, lang) for text in texts]
    if given is None:
        count = sum(map(len, sentences))
        return train_vectors(sentences, dim=dim, epochs=usual_epochs(count), seed=seed)
    if (given / MANIFEST).is_file():
        return WordVectors.open(given).table(lang)
    return read_vectors(given, dict.fromkeys(word for sentence in sentences for word in sentence))


def mapped(
    embedder: Embedder,
    lang: str,
    source: WordTable,
    target: WordPoints,
    dictionary: Mapping[str, tuple[str, ...]],
) -> Start:
    """The vectors of `source` through the map that takes the dictionary's words to where the model has them.

    The map is fitted on centred vectors of unit length; what comes out is put where the model's own words lie, and
    made as long as they are.
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
    start = fresh(embedder, words, lang, scale=SMALL)
    fit(start, words, values[known], edges={START: target.first, END: target.last, MASK: middle})
    return start


def fit(start: Start, words: Sequence[str], values: Floats, *, edges: Mapping[int, Floats]) -> None:
    """Bring the n-grams to where their words have these vectors [words, dim]; edges: the same for special tokens.

    So a word that has no vector gets one from those it looks like, and the part stays as small as it is.
    """
    tokenizer, part = start.tokenizer, start.words
    assert isinstance(tokenizer, CharacterTokenizer) and isinstance(part, HashedNgrams)
    letters = tokenizer.alphabet.spell(words, tokenizer.word_length)
    special = np.zeros((len(edges), tokenizer.word_length), np.int64)
    special[:, 0] = list(edges)
    inputs = torch.from_numpy(np.concatenate([special, letters]))
    wanted = torch.from_numpy(np.concatenate([np.stack(list(edges.values())), values]).astype(np.float32))
    optimizer = torch.optim.Adam(part.parameters(), lr=FIT_RATE)
    draws = torch.Generator().manual_seed(0)
    for step in range(FIT_STEPS):
        rows = torch.randint(len(inputs), (FIT_WORDS,), generator=draws)
        rows[: len(edges)] = torch.arange(len(edges))  # few, and in every sentence
        for group in optimizer.param_groups:
            group["lr"] = FIT_RATE * (1 - step / FIT_STEPS)
        optimizer.zero_grad(set_to_none=True)
        off = part.compose(SpelledWords(rows, inputs[rows])) - wanted[rows]
        off.square().sum(dim=1).mean().backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _sized(values: Floats, dim: int) -> Floats:
    """Vectors of the size of the model's words: fewer dimensions by PCA, more by zeros."""
    kept = min(values.shape[1], dim, len(values))
    found = reduce(values, kept) if kept < values.shape[1] else values
    return np.pad(found, ((0, 0), (0, dim - kept)))
