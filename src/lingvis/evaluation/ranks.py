"""Exact ranks by counting: no sorting, no whole score matrix, any number of captions per image.

The tie rule: a wrong answer whose score is within TOLERANCE of the right answer's ranks before it. So a
model that maps everything to one point scores zero, not 100 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints
from lingvis.errors import UserError
from lingvis.evaluation.scorers import Scorer

# Scores are float32 sums whose last digits depend on the shape of the block; differences
# below this (relative to the score if it is above one) are noise.
TOLERANCE = 1e-6
TIE_RULE = f"ties within {TOLERANCE:g} count against the model"

# A block, 100 MB, is large enough for the matrix product to be fast; it is counted in strips that fit the cache
# and have fewer than 256 images, so that eight bits hold a count.
BLOCK = 5000
STRIP = 250


@dataclass(frozen=True, slots=True)
class Ranks:
    """Number of wrong answers before the right one: zero-based ranks.

    i2t: int64 [images], wrong captions before the best right caption. t2i: int64 [texts], wrong images before the
    right image.
    """

    i2t: Ints
    t2i: Ints


def ranks(scorer: Scorer, image_of: Ints, *, distractors: bool = False) -> Ranks:
    """Ranks of both directions over scores [images, texts].

    image_of: int64 [texts], the image each caption describes. distractors: images may have no caption; they are wrong
    answers, and i2t leaves them out; otherwise every image has at least one caption.
    """
    images, texts = scorer.shape
    counts = _captions_per_image(image_of, images, texts, distractors=distractors)
    own = scorer.pairs(image_of)
    _check_finite(own)
    best = np.full(images, -np.inf, dtype=np.float32)
    np.maximum.at(best, image_of, own)
    own_limit, best_limit = limit(own), limit(best)

    i2t = texts - counts
    t2i = np.full(texts, images - 1, dtype=np.int64)
    for rows, columns in product(_parts(images, BLOCK), _parts(texts, BLOCK)):
        block = scorer.block(rows, columns)
        for part in _parts(len(block), STRIP):
            strip = slice(rows.start + part.start, rows.start + part.stop)
            by_image, by_text = _behind(
                block[part], best_limit[strip], own_limit[columns], image_of[columns] - strip.start
            )
            i2t[strip] -= by_image
            t2i[columns] -= by_text
    return Ranks(i2t[counts > 0], t2i)


def _behind(
    scores: Floats, best_limit: Floats, own_limit: Floats, row_of: Ints
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Number of wrong answers of a strip that rank after the right one, by image [n] and by text [m].

    scores: [n, m]; row_of: [m], the row of each text's image, outside 0..n-1 if it is not in the strip. Answers
    that score below the limit rank after; a NaN does not.
    """
    texts = np.flatnonzero((row_of >= 0) & (row_of < len(scores)))
    right = (row_of[texts], texts)
    mask = np.less(scores, best_limit[:, None])
    mask[right] = False
    by_image = mask.sum(axis=1, dtype=np.int32)
    np.less(scores, own_limit, out=mask)
    mask[right] = False
    return by_image, mask.view(np.uint8).sum(axis=0, dtype=np.uint8)


def _captions_per_image(image_of: Ints, images: int, texts: int, *, distractors: bool) -> Ints:
    if image_of.shape != (texts,):
        raise ValueError(f"expected image_of of shape ({texts},), got {image_of.shape}")
    if texts == 0 or image_of.min() < 0 or image_of.max() >= images:
        raise ValueError(f"expected at least one caption and image_of within 0..{images - 1}")
    counts = np.bincount(image_of, minlength=images)
    if not distractors and not counts.all():
        raise ValueError(f"image {int(np.argmin(counts))} has no caption; leave such images out")
    return counts


def _check_finite(own: Floats) -> None:
    broken = int((~np.isfinite(own)).sum())
    if broken:
        raise UserError(
            f"{broken} of {len(own)} captions have no finite score with their image; the model has "
            "diverged, use an earlier checkpoint or train again with a lower learning rate"
        )


def limit(scores: Floats) -> Floats:
    """The lowest score with which a wrong answer ranks before the right one."""
    return np.asarray(scores - TOLERANCE * np.maximum(1.0, np.abs(scores)), dtype=np.float32)


def _parts(count: int, size: int) -> Iterator[slice]:
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))
