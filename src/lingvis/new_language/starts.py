"""Initial word parts of a new language: a copy of the model's words, or fresh n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lingvis.model.added_language import make_words
from lingvis.model.embedder import Embedder
from lingvis.recipes.schema import ModelRecipe, Part
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.words.ngrams import HashedNgrams
from lingvis.text.words.spelled import SpelledWordPart

WORD_LENGTH = 16
SHORTEST = 3
LONGEST = 5
BUCKETS = 16_000


@dataclass(frozen=True, slots=True)
class WordStart:
    """A tokenizer and a word part, both as objects and by name with their options."""

    tokenizer_part: Part
    words_part: Part
    tokenizer: CharacterTokenizer
    words: SpelledWordPart


def spells(embedder: Embedder) -> bool:
    """Whether the model composes words from letters, so that it has a vector for any word."""
    return _spelling_parts(embedder) is not None


def copied_start(embedder: Embedder, recipe: ModelRecipe, texts: Sequence[str], lang: str) -> WordStart:
    """A copy of the words of a model that spells, extended by new letters of the sentences.

    Weights of letters are rows of a tensor: rows of new letters keep their random initial values.
    """
    parts = _spelling_parts(embedder)
    if parts is None:
        raise ValueError("the model does not spell its words")
    tokenizer = parts[0].extended(texts, [lang] * len(texts))
    words = make_words(recipe.text.words, tokenizer.vocabulary)
    assert isinstance(words, SpelledWordPart)  # as in the model of this recipe
    state = words.state_dict()
    for name, value in parts[1].state_dict().items():
        if value.ndim:
            state[name][: len(value)] = value  # rows of new letters come after
        else:
            state[name].copy_(value)
    return WordStart(recipe.text.tokenizer, recipe.text.words, tokenizer, words)


def fresh_start(texts: Sequence[str], lang: str, *, dim: int, scale: float) -> WordStart:
    """Hashed n-grams with random vectors [dim] of standard deviation `scale`."""
    tokenizer = CharacterTokenizer(word_length=WORD_LENGTH)
    tokenizer.fit(texts, [lang] * len(texts))
    letters = {"name": "characters", "word_length": WORD_LENGTH, "min_count": 1}
    options = {"buckets": BUCKETS, "shortest": SHORTEST, "longest": LONGEST, "dim": dim}
    words = HashedNgrams(vocabulary=tokenizer.vocabulary, **options)
    with torch.no_grad():
        words.table.weight.mul_(scale / float(words.table.weight.std()))
    return WordStart(
        Part.model_validate(letters), Part.model_validate({"name": "ngrams", **options}), tokenizer, words
    )


def _spelling_parts(embedder: Embedder) -> tuple[CharacterTokenizer, SpelledWordPart] | None:
    """The tokenizer and the word part of a model that spells; None for other models."""
    tokenizer = embedder.tokenizer
    words = embedder.model.text.words
    if isinstance(tokenizer, CharacterTokenizer) and isinstance(words, SpelledWordPart):
        return tokenizer, words
    return None
