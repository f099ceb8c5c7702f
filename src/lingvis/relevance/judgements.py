"""Queries for held-out pictures, with the pictures that are right and those that are wrong by their captions.

A caption that does not mention a thing does not prove that the picture lacks it. For the name of a thing, a picture is
right if its captions in any language mention the thing or a kind of it ("terrier" for dog), and not judged if they
mention only something wider ("dog" for terrier); the others count as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.data.class_names import read_concepts
from lingvis.data.dataset import Captions
from lingvis.relevance.calibration import FEWEST_PICTURES
from lingvis.relevance.mentions import MentionedConcepts, MentionedWords
from lingvis.relevance.spread import SAMPLED, ScoreSpread

# Captions are also tried among pictures that share at most this part of its words, weighted by their rarity.
SHARED_WORDS = 0.25
PER_LANGUAGE = 300  # queries of each kind

Kind = Literal["name", "sentence"]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedQuery:
    """A query; pool: the pictures to search in, bool [pictures]; right, wrong: those of them that are judged."""

    text: str
    lang: str
    kind: Kind
    pool: Bools
    right: Bools
    wrong: Bools

    @property
    def answerable(self) -> bool:
        """Whether a picture fits."""
        return bool(self.right.any())


def judge(captions: Captions, *, seed: int = 0) -> list[JudgedQuery]:
    """Queries of every language: names of things, mentioned or not, and captions, with their picture or without."""
    random = np.random.default_rng(seed)
    languages = [MentionedWords(captions, lang) for lang in dict.fromkeys(captions.langs)]
    concepts = MentionedConcepts(read_concepts(), languages)
    queries: list[JudgedQuery] = []
    for language in languages:
        for judged in (
            list(_names(language, concepts)),
            list(_sentences(captions, language, random)),
        ):
            for answerable in (True, False):
                group = [query for query in judged if query.answerable == answerable]
                chosen = random.permutation(len(group))[:PER_LANGUAGE]
                queries += [group[place] for place in sorted(chosen)]
    return queries


def _names(language: MentionedWords, concepts: MentionedConcepts) -> Iterator[JudgedQuery]:
    """Names of things that captions mention, and of things that none mentions."""
    everything = np.ones(len(language.mentions), bool)
    for (lang, name), numbers in concepts.of_name.items():
        if lang == language.lang:
            right = language.mentioned(name) | concepts.right[:, numbers].any(axis=1)
            related = concepts.related[:, numbers].any(axis=1)
            yield JudgedQuery(name, lang, "name", everything, right, ~right & ~related)


def _sentences(
    captions: Captions, language: MentionedWords, random: np.random.Generator
) -> Iterator[JudgedQuery]:
    """Captions with their picture, where every other one counts as wrong, and among pictures that share few words."""
    everything, nothing = np.ones(len(language.mentions), bool), np.zeros(len(language.mentions), bool)
    for place, row in enumerate(random.permutation(language.rows)[: 2 * PER_LANGUAGE].tolist()):
        if place % 2 == 0:
            right = nothing.copy()
            right[captions.image_of[row]] = True
            yield JudgedQuery(captions.texts[row], language.lang, "sentence", everything, right, ~right)
        elif (far := _far(language, row)).sum() >= FEWEST_PICTURES:
            yield JudgedQuery(captions.texts[row], language.lang, "sentence", far, nothing, far)


def _far(language: MentionedWords, row: int) -> Bools:
    """The pictures that share few words with a caption."""
    places = language.places(row)
    weights = language.rarity[places]
    far: Bools = language.mentions[:, places] @ weights <= SHARED_WORDS * weights.sum()
    return far


@dataclass(frozen=True, slots=True)
class Trial:
    """The hits of a query in a collection of n pictures, best first; judged: True right, False wrong, None unknown."""

    query: JudgedQuery
    pictures: int
    spread: ScoreSpread
    scores: list[float]
    judged: list[bool | None]


def try_queries(
    queries: Sequence[JudgedQuery],
    text_emb: Floats,
    image_emb: Floats,
    *,
    size: int | None,
    seed: int = 0,
    k: int = 1,
) -> Iterator[Trial]:
    """Search each query in a random collection; size: its pictures, None for a random size up to all.

    An answerable query has at least one right picture in its collection.
    """
    random = np.random.default_rng(seed)
    sizes = np.log([min(FEWEST_PICTURES, len(image_emb)), len(image_emb)])
    for query, vector in zip(queries, text_emb, strict=True):
        allowed = np.flatnonzero(query.pool)
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
        # The spread is that of a sample, as in a collection.
        spread = ScoreSpread.of(scores[:SAMPLED])
        yield Trial(query, count, spread, [float(scores[place]) for place in best], judged)
