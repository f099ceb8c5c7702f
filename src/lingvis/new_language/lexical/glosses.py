"""Glosses: captions in a known language translated word by word, for pictures without one in the new language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from lingvis.model.embedder import Embedder
from lingvis.new_language.language_data import SentenceGroups
from lingvis.new_language.lexical.lexicon import BilingualLexicon
from lingvis.new_language.lexical.word_vectors import word_points
from lingvis.new_language.starts import spells
from lingvis.text.segment import words as split

MOST = 3000  # for 1,000 captions; the first number tried, and 9,000 did not help Arabic on validation
SHORTEST = 3  # words: a shorter gloss has too little content
LIKE = 0.6  # lowest cosine of a word that replaces another: "dogs" is replaced by "dog"


def with_glosses(
    part: SentenceGroups, embedder: Embedder, lexicon: BilingualLexicon, pivot: str, *, seed: int
) -> SentenceGroups:
    """Add a gloss to up to MOST pictures that have sentences in `pivot` but none in the new language.

    Word order and grammar come from the known language; the model learns words and their contexts from glosses.
    """
    described = set(part.groups)
    captions = {
        group: [text for lang, text in part.known[group] if lang == pivot]
        for group in range(len(part.images))
        if group not in described
    }
    draws = np.random.default_rng(seed)
    chosen = draws.permutation([group for group, known in captions.items() if known])[:MOST].tolist()
    drawn = {group: split(captions[group][draws.integers(len(captions[group]))], pivot) for group in chosen}
    needed = list(dict.fromkeys(word for words in drawn.values() for word in words))
    translation = _with_similar_words(lexicon.into_new_language(), needed, embedder, pivot)
    texts = list(part.texts)
    groups = list(part.groups)
    for group, words in drawn.items():
        gloss = [translation[word] for word in words if word in translation]
        if len(gloss) >= SHORTEST:
            texts.append(" ".join(gloss))
            groups.append(group)
    return replace(part, texts=texts, groups=groups)


def _with_similar_words(
    translation: dict[str, str], needed: Iterable[str], embedder: Embedder, pivot: str
) -> dict[str, str]:
    """Translate words without a translation like the most similar word by the model's word vectors, if similar enough.

    Adds nothing for a model that does not spell, which has one vector for all unknown words.
    """
    known = [word for word in needed if word in translation]
    lacking = [word for word in needed if word not in translation]
    if not known or not lacking or not spells(embedder):
        return translation
    values = word_points(embedder, [*known, *lacking], pivot).table.values
    values = values - values.mean(axis=0)
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    cosine = values[len(known) :] @ values[: len(known)].T  # [lacking, known]
    best = cosine.argmax(axis=1)
    similar = {
        word: translation[known[place]]
        for word, place, score in zip(lacking, best, cosine.max(axis=1), strict=True)
        if score >= LIKE
    }
    return translation | similar
