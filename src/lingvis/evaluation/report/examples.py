"""Example queries with their first answers, drawn before anything is known of the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.evaluation.evaluate import Embedded
from lingvis.evaluation.pools import Pool
from lingvis.evaluation.ranks import limit
from lingvis.evaluation.scorers import EVERY, Floats, Scorer

TOP = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """An image name or a sentence that was found, and whether it belongs to the query."""

    item: str
    score: float
    right: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A query (a sentence under t2i, an image name under i2t) with its first answers, best first.

    rank: place of the first right answer, counted from one, of `candidates`.
    """

    lang: str
    direction: str
    query: str
    answers: tuple[Answer, ...]
    rank: int
    candidates: int


@dataclass(frozen=True, slots=True)
class SameQuestion:
    """An image asked for in every language: a sentence about it in each, with the first answers to that alone.

    together: with the queries read with their translations, the first of them once more, read that way.
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
    same: tuple[SameQuestion, ...] = ()


def examples(
    embedded: Embedded, *, queries: int = 4, same: int = 3, top: int = TOP, seed: int = 0
) -> Examples:
    """Random queries, the same for the same seed and dataset.

    queries: for each language and direction; same: images that are asked for in all languages.
    """
    made: list[Example] = []
    for pool, scorer in zip(embedded.pools, embedded.scorers, strict=True):
        rng = np.random.default_rng([seed, *pool.lang.encode()])
        for text in _draw(rng, len(pool.texts), queries):
            made.append(_from_text(pool, scorer, text, top))
        for image in _draw(rng, len(pool.images), queries):
            made.append(_from_image(pool, scorer, image, top))
    return Examples(
        tuple(made), seed, embedded.dataset.images_dir, tuple(_same_questions(embedded, same, top, seed))
    )


def _same_questions(embedded: Embedded, wanted: int, top: int, seed: int) -> Iterator[SameQuestion]:
    """Of images that have a sentence in every language; none with one language alone."""
    first, *others = embedded.pools
    shared = [name for name in first.images if all(name in pool.places for pool in others)]
    rng = np.random.default_rng([seed, len(embedded.pools)])
    for number in _draw(rng, len(shared), wanted if others else 0):
        image = shared[number]
        texts = [
            int(rng.choice(np.flatnonzero(pool.image_of == pool.places[image]))) for pool in embedded.pools
        ]
        alone = embedded.scorers if embedded.reading is None else embedded.reading.alone
        queries = tuple(
            _from_text(pool, scorer, text, top)
            for pool, scorer, text in zip(embedded.pools, alone, texts, strict=True)
            if scorer is not None
        )
        together = embedded.reading is not None and len(embedded.reading.languages[0]) > 1
        combined = _from_text(first, embedded.scorers[0], texts[0], top) if together else None
        yield SameQuestion(image, queries, combined)


def _draw(rng: np.random.Generator, count: int, wanted: int) -> list[int]:
    return sorted(int(number) for number in rng.choice(count, size=min(wanted, count), replace=False))


def _from_text(pool: Pool, scorer: Scorer, text: int, top: int) -> Example:
    scores = scorer.block(EVERY, np.asarray([text]))[:, 0]
    right = np.arange(len(pool.images)) == pool.image_of[text]
    return _example(pool.lang, "t2i", pool.texts[text], pool.images, scores, right, top)


def _from_image(pool: Pool, scorer: Scorer, image: int, top: int) -> Example:
    scores = scorer.block(slice(image, image + 1), EVERY)[0]
    return _example(pool.lang, "i2t", pool.images[image], pool.texts, scores, pool.image_of == image, top)


def _example(
    lang: str,
    direction: str,
    query: str,
    items: list[str],
    scores: Floats,
    right: NDArray[np.bool_],
    top: int,
) -> Example:
    """Sorted under the tie rule of the ranks: a right answer stands behind wrong ones of the same score."""
    order = np.lexsort((right, -np.where(right, limit(scores), scores)))
    answers = tuple(Answer(items[place], float(scores[place]), bool(right[place])) for place in order[:top])
    rank = int(np.argmax(right[order])) + 1
    return Example(lang, direction, query, answers, rank, len(items))
