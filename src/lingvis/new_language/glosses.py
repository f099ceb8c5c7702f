"""Captions of pictures that nobody has described in the new language, put into it word by word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lingvis.model.embedder import Embedder
from lingvis.new_language.lexicon import Lexicon
from lingvis.new_language.material import Part
from lingvis.new_language.starts import spells
from lingvis.new_language.word_vectors import word_points
from lingvis.text.segment import words as split

MOST = 3000  # beside 1,000 captions; the first number tried, and 9,000 brought Arabic nothing on validation
SHORTEST = 3  # words: what is left of a sentence with fewer says nothing
LIKE = 0.6  # cosine from which on a word stands for another: "dogs" for "dog"


def with_glosses(part: Part, embedder: Embedder, lexicon: Lexicon, pivot: str, *, seed: int) -> Part:
    """The part with one more sentence for each of some pictures that have none, from a sentence of the known language.

    The order of words is that of the known language, and so is the grammar; the words, and what they
    stand beside, are what is learnt from them.
    """
    described = set(part.groups)
    there = {
        group: [text for lang, text in part.known[group] if lang == pivot]
        for group in range(len(part.images))
        if group not in described
    }
    draws = np.random.default_rng(seed)
    chosen = draws.permutation([group for group, known in there.items() if known])[:MOST].tolist()
    drawn = {group: split(there[group][draws.integers(len(there[group]))], pivot) for group in chosen}
    wanted = dict.fromkeys(word for words in drawn.values() for word in words)
    spoken = _with_likeness(lexicon.spoken(), wanted, embedder, pivot)
    texts, groups = list(part.texts), list(part.groups)
    for group, words in drawn.items():
        said = [spoken[word] for word in words if word in spoken]
        if len(said) >= SHORTEST:
            texts.append(" ".join(said))
            groups.append(group)
    return replace(part, texts=texts, groups=groups)


def _with_likeness(
    spoken: dict[str, str], wanted: Mapping[str, None], embedder: Embedder, pivot: str
) -> dict[str, str]:
    """A word without a translation gets that of the word that the model takes for the most like it, where one is.

    A model that does not spell takes all words that it never saw for the same, and is not asked.
    """
    known = [word for word in wanted if word in spoken]
    lacking = [word for word in wanted if word not in spoken]
    if not known or not lacking or not spells(embedder):
        return spoken
    values = word_points(embedder, [*known, *lacking], pivot).table.values
    values = values - values.mean(axis=0)
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    cosine = values[len(known) :] @ values[: len(known)].T
    best = cosine.argmax(axis=1)
    like = {
        word: spoken[known[place]]
        for word, place, score in zip(lacking, best, cosine.max(axis=1), strict=True)
        if score >= LIKE
    }
    return spoken | like
