"""What the words of a new language start from: the model's own letters, or letters of nothing but their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lingvis.model.added_language import make_words
from lingvis.model.embedder import Embedder
from lingvis.recipes.schema import ModelRecipe, Part
from lingvis.text.tokenizers.base import Tokenizer
from lingvis.text.tokenizers.characters import CharacterTokenizer
from lingvis.text.words.base import WordPart
from lingvis.text.words.spelled import SpelledWordPart

WORD_LENGTH, SHORTEST, LONGEST, BUCKETS = 16, 3, 5, 16_000


@dataclass(frozen=True, slots=True)
class Start:
    """A tokenizer and a word part, by name with their options and made."""

    tokenizer_part: Part
    words_part: Part
    tokenizer: Tokenizer
    words: WordPart


def spells(embedder: Embedder) -> bool:
    """Whether the model composes words from letters, so that it has something to say of any word."""
    return isinstance(embedder.tokenizer, CharacterTokenizer) and isinstance(
        embedder.model.text.words, SpelledWordPart
    )


def copied(embedder: Embedder, recipe: ModelRecipe, texts: Sequence[str], lang: str) -> Start:
    """A copy of the model's own words, with the letters that are new in the sentences.

    Weights of letters are rows of a tensor: those of new letters start as the part draws them.
    """
    assert isinstance(embedder.tokenizer, CharacterTokenizer)
    tokenizer = embedder.tokenizer.extended(texts, [lang] * len(texts))
    words = make_words(recipe.text.words, tokenizer.vocabulary)
    state = words.state_dict()
    for name, value in embedder.model.text.words.state_dict().items():
        if value.ndim:
            state[name][: len(value)] = value  # the rest, rows of new letters, is as it was drawn
        else:
            state[name].copy_(value)
    return Start(recipe.text.tokenizer, recipe.text.words, tokenizer, words)


def fresh(embedder: Embedder, texts: Sequence[str], lang: str, scale: float) -> Start:
    """Hashed n-grams that know nothing yet; scale: the standard deviation of the model's own word vectors."""
    tokenizer = CharacterTokenizer(word_length=WORD_LENGTH)
    tokenizer.fit(texts, [lang] * len(texts))
    letters = {"name": "characters", "word_length": WORD_LENGTH, "min_count": 1}
    grams = {"name": "ngrams", "buckets": BUCKETS, "shortest": SHORTEST, "longest": LONGEST}
    part = Part.model_validate(grams | {"dim": embedder.model.text.words.dim})
    words = make_words(part, tokenizer.vocabulary)
    with torch.no_grad():
        words.table.weight.mul_(scale / float(words.table.weight.std()))  # type: ignore[union-attr, operator]
    return Start(Part.model_validate(letters), part, tokenizer, words)
