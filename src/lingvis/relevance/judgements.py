"""Queries for held-out pictures, with the pictures that are certainly right and certainly wrong by their captions.

A caption that does not mention a thing does not prove that the picture lacks it. So a hit counts as right if captions of
the picture mention the thing, as wrong if the query is for a thing that no caption of the split mentions, and is not
counted otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.data.class_names import read_concepts
from lingvis.data.dataset import Captions
from lingvis.relevance.calibration import FEWEST_PICTURES
from lingvis.text.segment import words

# Captions are also tried among pictures that share at most this part of its words, weighted by their rarity.
SHARED_WORDS = 0.25
PER_LANGUAGE = 300  # queries of each kind

Kind = Literal["name", "sentence"]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedQuery:
    """A query; right: the pictures that fit, bool [pictures]; wrong: those that do not; others are not judged.

    A query has either right pictures, or wrong ones only.
    """

    text: str
    lang: str
    kind: Kind
    right: Bools
    wrong: Bools

    @property
    def answerable(self) -> bool:
        """Whether a picture fits."""
        return bool(self.right.any())


class _Language:
    """The captions of a split in one language: the words of each picture, bool [pictures, words]."""

    def __init__(self, captions: Captions, lang: str) -> None:
        self.lang = lang
        self.rows = [row for row, each in enumerate(captions.langs) if each == lang]
        self.pieces = {row: words(captions.texts[row], lang) for row in self.rows}
        self.place = {word: place for place, word in enumerate(sorted(set().union(*self.pieces.values())))}
        self.mentions = np.zeros((len(captions.images), len(self.place)), bool)
        for row in self.rows:
            self.mentions[captions.image_of[row], self._places(row)] = True
        described = max(1, int(self.mentions.any(axis=1).sum()))
        self.rarity = np.log(described / np.maximum(1, self.mentions.sum(axis=0)))

    def _places(self, row: int) -> list[int]:
        return [self.place[word] for word in set(self.pieces[row])]

    def far(self, row: int) -> Bools:
        """The pictures that share few words with a caption."""
        places = self._places(row)
        weights = self.rarity[places]
        shared: Bools = self.mentions[:, places] @ weights <= SHARED_WORDS * weights.sum()
        return shared

    def mentioned(self, name: str) -> Bools | None:
        """The pictures whose captions mention every word of a name; None if no caption has a word of it."""
        pieces = words(name, self.lang)
        places = [self.place[word] for word in pieces if word in self.place]
        if not places or not pieces:
            return None
        if len(places) < len(pieces):
            return np.zeros(len(self.mentions), bool)
        mentioned: Bools = np.all(self.mentions[:, places], axis=1)
        return mentioned


def judge(captions: Captions, *, seed: int = 0) -> list[JudgedQuery]:
    """Queries of every language: names of things, mentioned or not, and captions, with their picture or without."""
    random = np.random.default_rng(seed)
    queries: list[JudgedQuery] = []
    for lang in dict.fromkeys(captions.langs):
        language = _Language(captions, lang)
        for judged in (list(_names(language)), list(_sentences(captions, language, random))):
            for answerable in (True, False):
                group = [query for query in judged if query.answerable == answerable]
                chosen = random.permutation(len(group))[:PER_LANGUAGE]
                queries += [group[place] for place in sorted(chosen)]
    return queries


def _names(language: _Language) -> Iterator[JudgedQuery]:
    """Names of classes: those that captions mention, and those of which captions have no word at all."""
    nothing = np.zeros(len(language.mentions), bool)
    names = Counter(name for concept in read_concepts() for name in concept.names.get(language.lang, []))
    for name in names:
        right = language.mentioned(name)
        if right is None:
            yield JudgedQuery(name, language.lang, "name", nothing, ~nothing)
        elif right.any():
            yield JudgedQuery(name, language.lang, "name", right, nothing)


def _sentences(captions: Captions, language: _Language, random: np.random.Generator) -> Iterator[JudgedQuery]:
    """Captions with their picture, and others among pictures that share few words with them."""
    nothing = np.zeros(len(language.mentions), bool)
    for place, row in enumerate(random.permutation(language.rows)[: 2 * PER_LANGUAGE].tolist()):
        text, far = captions.texts[row], language.far(row)
        if place % 2 == 0:
            right = nothing.copy()
            right[captions.image_of[row]] = True
            yield JudgedQuery(text, language.lang, "sentence", right, nothing)
        elif far.sum() >= FEWEST_PICTURES:
            yield JudgedQuery(text, language.lang, "sentence", nothing, far)


@dataclass(frozen=True, slots=True)
class Trial:
    """The hits of a query in a collection of n pictures, best first; judged: True right, False wrong, None unknown."""

    query: JudgedQuery
    pictures: int
    scores: list[float]
    judged: list[bool | None]


def try_queries(
    queries: Sequence[JudgedQuery],
    text_emb: Floats,
    image_emb: Floats,
    *,
    size: int | None,
    seed: int = 0,
    k: int = 5,
) -> Iterator[Trial]:
    """Search each query in a random collection; size: its pictures, None for a random size up to all.

    An answerable query has at least one right picture in its collection.
    """
    random = np.random.default_rng(seed)
    sizes = np.log([min(FEWEST_PICTURES, len(image_emb)), len(image_emb)])
    for query, vector in zip(queries, text_emb, strict=True):
        allowed = np.flatnonzero(~query.wrong if query.answerable else query.wrong)
        count = min(len(allowed), size or round(np.exp(random.uniform(*sizes))))
        pool = random.permutation(allowed)[:count]
        if query.answerable and not query.right[pool].any():
            pool[0] = random.choice(np.flatnonzero(query.right))
        scores = image_emb[pool] @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        judged = [
            True if query.right[pool[place]] else False if query.wrong[pool[place]] else None
            for place in best
        ]
        yield Trial(query, count, [float(scores[place]) for place in best], judged)
