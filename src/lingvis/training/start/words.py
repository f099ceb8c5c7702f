"""The words at the start of a run: vocabulary, word vectors, latent tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.files import atomic_file
from lingvis.recipes.schema import Recipe
from lingvis.text.alignment import prepare
from lingvis.text.tokenizers.base import Vocabulary
from lingvis.text.vectors.pca import reduce
from lingvis.text.vectors.store import VECTORS, WordVectors
from lingvis.text.words import WORDS
from lingvis.text.words.latent import Assignment
from lingvis.training.sources import Sentences

ASSIGNMENT = "assignment.safetensors"


def vocabulary_sentences(
    recipe: Recipe, dataset: Dataset, sentences: Sentences
) -> tuple[list[str], list[str]]:
    """Texts and languages that the vocabulary is made from.

    Words that stay as they are stored (`mapped`) need no caption: the vocabulary has every word with a vector.
    """
    rows = np.flatnonzero(sentences.in_vocabulary)
    texts, langs = [sentences.texts[row] for row in rows], [sentences.langs[row] for row in rows]
    if _keeps_vectors(recipe):
        stored = _open_vectors(recipe, dataset)
        for lang in dict.fromkeys(langs):
            words = stored.table(lang).words
            texts += words
            langs += [lang] * len(words)
    return texts, langs


def stored_vectors(recipe: Recipe, dataset: Dataset, vocabulary: Vocabulary) -> Floats | None:
    """The dataset's word vectors of every id of the vocabulary [size, dim]; zero where a word has none.

    Vectors are centred per language, because vectors trained on captions share a large common direction. For `mapped`
    words they are centred over all stored vectors and have unit length, as maps expect.
    """
    if not recipe.data.vectors:
        return None
    if not vocabulary.blocks:
        raise UserError(
            f"data.vectors is {recipe.data.vectors!r}, but tokenizer {recipe.text.tokenizer.name} has no vocabulary per "
            "language; use the tokenizer language_words, or set data.vectors to an empty string"
        )
    stored = _open_vectors(recipe, dataset)
    values = np.zeros((vocabulary.size, stored.dim), dtype=np.float32)
    for lang, (first, last) in zip(vocabulary.languages, vocabulary.blocks, strict=True):
        offset = vocabulary.blocks[0][0]
        vectors_of_lang, known = stored.lookup(vocabulary.own_words[first - offset : last - offset], lang)
        if _keeps_vectors(recipe):
            # The vocabulary has all stored words, and perhaps some without a vector, which stay zero.
            vectors_of_lang = prepare(vectors_of_lang)
        elif known.any():
            vectors_of_lang[known] -= vectors_of_lang[known].mean(axis=0)
        values[first:last] = vectors_of_lang
    return values


def words_start(recipe: Recipe, vocabulary: Vocabulary, vectors: Floats | None) -> dict[str, Any]:
    """Initial vectors of the word part, reduced to its size by a PCA per language.

    A language with fewer known words than dimensions has zeros in the remaining dimensions.
    """
    if vectors is None:
        return {}
    dim: int = recipe.text.words.options.get("vector_dim") or vectors.shape[1]
    if dim == vectors.shape[1] or _keeps_vectors(recipe):
        return {"vectors": vectors}
    reduced = np.zeros((len(vectors), dim), dtype=np.float32)
    for first, last in vocabulary.blocks:
        known = first + np.flatnonzero(vectors[first:last].any(axis=1))
        if len(known):
            fewer = min(dim, len(known))
            reduced[known, :fewer] = reduce(vectors[known], fewer)
    return {"vectors": reduced}


def _keeps_vectors(recipe: Recipe) -> bool:
    return WORDS.get(recipe.text.words.name).keeps_vectors


def _open_vectors(recipe: Recipe, dataset: Dataset) -> WordVectors:
    return WordVectors.open(dataset.path / VECTORS / recipe.data.vectors)


def kept_assignment(out: Path, make: Callable[[], Assignment | None]) -> Assignment | None:
    """The latent vocabulary of a run, kept in its folder so that a resumed run has the same one."""
    file = out / ASSIGNMENT
    if file.is_file():
        try:
            stored = load_file(file)
            return Assignment(token_of=stored["token_of"], vectors=stored["vectors"])
        except (SafetensorError, KeyError) as error:
            raise UserError(f"{file} is damaged ({error}); delete its folder and train again") from error
    assignment = make()
    if assignment is not None:
        out.mkdir(parents=True, exist_ok=True)
        tensors = {"token_of": assignment.token_of, "vectors": assignment.vectors}
        with atomic_file(file) as temporary:
            save_file({name: each.cpu().contiguous() for name, each in tensors.items()}, temporary)
    return assignment
