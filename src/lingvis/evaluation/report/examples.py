"""Random example queries with their first answers, drawn before the results are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.evaluation.evaluate import ScoredPools
from lingvis.evaluation.pools import EvaluationPool
from lingvis.evaluation.ranks import limit
from lingvis.evaluation.scorers import EVERY, Scorer

TOP = 5


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """A result, an image name or a sentence, and whether it belongs to the query."""

    item: str
    score: float
    right: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A query (a sentence under t2i, an image name under i2t) with its first answers, best first.

    rank: place of the first right answer among `candidates`, counted from one.
    """

    lang: str
    direction: str
    query: str
    answers: tuple[ExampleAnswer, ...]
    rank: int
    candidates: int


@dataclass(frozen=True, slots=True)
class SameQuery:
    """An image, and one sentence per language with the first answers to this sentence alone.

    together: the first sentence again, scored with its translations; None without CLC.
    """

    image: str
    queries: tuple[Example, ...]
    together: Example | None = None


@dataclass(frozen=True, slots=True)
class Examples:
    """Queries of all languages, the seed they were drawn with, and the folder of the pictures they name."""

    queries: tuple[Example, ...]
    seed: int
    images: Path
    same: tuple[SameQuery, ...] = ()


def examples(scored: ScoredPools, *, queries: int = 4, same: int = 3, seed: int = 0) -> Examples:
    """Random queries, the same for the same seed and dataset.

    queries: number per language and direction; same: number of images with a query in every language.
    """
    drawn: list[Example] = []
    for pool, scorer in zip(scored.pools, scored.scorers, strict=True):
        rng = np.random.default_rng([seed, *pool.lang.encode()])
        for text in _draw(rng, len(pool.texts), queries):
            drawn.append(_from_text(pool, scorer, text))
        for image in _draw(rng, len(pool.images), queries):
            drawn.append(_from_image(pool, scorer, image))
    return Examples(tuple(drawn), seed, scored.dataset.images_dir, tuple(_same_queries(scored, same, seed)))


def _same_queries(scored: ScoredPools, count: int, seed: int) -> Iterator[SameQuery]:
    """Queries for images that have a sentence in every language; none if there is one language only."""
    first, *others = scored.pools
    shared = [name for name in first.images if all(name in pool.places for pool in others)]
    rng = np.random.default_rng([seed, len(scored.pools)])
    for number in _draw(rng, len(shared), count if others else 0):
        image = shared[number]
        texts = [
            int(rng.choice(np.flatnonzero(pool.image_of == pool.places[image]))) for pool in scored.pools
        ]
        single = scored.scorers if scored.queries is None else scored.queries.single
        queries = tuple(
            _from_text(pool, scorer, text)
            for pool, scorer, text in zip(scored.pools, single, texts, strict=True)
            if scorer is not None
        )
        together = scored.queries is not None and len(scored.queries.languages[0]) > 1
        combined = _from_text(first, scored.scorers[0], texts[0]) if together else None
        yield SameQuery(image, queries, combined)


def _draw(rng: np.random.Generator, size: int, count: int) -> list[int]:
    return sorted(int(number) for number in rng.choice(size, size=min(count, size), replace=False))


def _from_text(pool: EvaluationPool, scorer: Scorer, text: int) -> Example:
    scores = scorer.block(EVERY, np.asarray([text]))[:, 0]
    right = np.arange(len(pool.images)) == pool.image_of[text]
    return _example(pool.lang, "t2i", pool.texts[text], pool.images, scores, right)


def _from_image(pool: EvaluationPool, scorer: Scorer, image: int) -> Example:
    scores = scorer.block(slice(image, image + 1), EVERY)[0]
    return _example(pool.lang, "i2t", pool.images[image], pool.texts, scores, pool.image_of == image)


def _example(
    lang: str,
    direction: str,
    query: str,
    items: list[str],
    scores: Floats,
    right: Bools,
) -> Example:
    """Sort answers by the tie rule of the ranks: wrong answers come before a right one of the same score."""
    order = np.lexsort((right, -np.where(right, limit(scores), scores)))
    answers = tuple(
        ExampleAnswer(items[place], float(scores[place]), bool(right[place])) for place in order[:TOP]
    )
    rank = int(np.argmax(right[order])) + 1
    return Example(lang, direction, query, answers, rank, len(items))
