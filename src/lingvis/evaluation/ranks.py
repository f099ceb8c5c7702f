"""Exact ranks by counting: no sorting, no whole score matrix, any number of captions an image.

The tie rule: a wrong answer whose score is within TOLERANCE of the right one's stands before it. A model
that maps everything to one point therefore scores zero, not perfect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.evaluation.scorers import EVERY, Floats, Scorer

# Scores are float32 sums whose last digits depend on the shape of the block they were made in; differences
# below this (relative to the score where it is above one) say nothing.
TOLERANCE = 1e-6
TIE_RULE = f"ties within {TOLERANCE:g} count against the model"

BLOCK_SCORES = 1 << 24  # 64 MB of float32
BLOCK_IMAGES = 500  # more rows make the matrix product no faster
PAIR_IMAGES = 16


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many wrong answers stand before the right one: zero-based ranks.

    i2t: int64 [images], wrong captions before the best of an image's own captions.
    t2i: int64 [texts], wrong images before the caption's own image.
    """

    i2t: NDArray[np.int64]
    t2i: NDArray[np.int64]


def ranks(scorer: Scorer, image_of: NDArray[np.int64]) -> Ranks:
    """Ranks of both directions over scores [images, texts].

    image_of: int64 [texts], the image each caption describes; every image has at least one caption.
    """
    images, texts = scorer.shape
    by_image, bounds = _captions_by_image(image_of, images, texts)
    own = _own_scores(scorer, image_of, by_image, bounds)
    best = np.full(images, -np.inf, dtype=np.float32)
    np.maximum.at(best, image_of, own)
    own_limit, best_limit = limit(own), limit(best)

    i2t = np.empty(images, dtype=np.int64)
    t2i = np.full(texts, images - 1, dtype=np.int64)
    step = max(1, min(BLOCK_IMAGES, BLOCK_SCORES // texts))
    mask = np.empty((min(step, images), texts), dtype=np.bool_)
    for start, stop in _steps(images, step):
        block = scorer.block(slice(start, stop), EVERY)
        below = mask[: stop - start]
        mine = by_image[bounds[start] : bounds[stop]]
        rows = image_of[mine] - start
        # A score that is not below the limit stands before the right answer, NaN included. The right answers
        # themselves lie in the block too and are taken out of the count.
        np.less(block, best_limit[start:stop, None], out=below)
        wrong = texts - np.diff(bounds[start : stop + 1])
        right_below = np.bincount(rows, weights=below[rows, mine], minlength=stop - start).astype(np.int64)
        i2t[start:stop] = wrong - (below.sum(axis=1, dtype=np.int32) - right_below)
        np.less(block, own_limit, out=below)
        t2i -= below.sum(axis=0, dtype=np.int32)
        t2i[mine] += below[rows, mine]
    return Ranks(i2t, t2i)


def _captions_by_image(
    image_of: NDArray[np.int64], images: int, texts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Captions sorted by image, and where each image's begin; bounds: [images + 1]."""
    if image_of.shape != (texts,):
        raise ValueError(f"expected image_of of shape ({texts},), got {image_of.shape}")
    if texts == 0 or image_of.min() < 0 or image_of.max() >= images:
        raise ValueError(f"expected at least one caption and image_of within 0..{images - 1}")
    counts = np.bincount(image_of, minlength=images)
    if not counts.all():
        raise ValueError(f"image {int(np.argmin(counts))} has no caption; leave such images out")
    bounds = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
    return np.argsort(image_of, kind="stable"), bounds


def _own_scores(
    scorer: Scorer, image_of: NDArray[np.int64], by_image: NDArray[np.int64], bounds: NDArray[np.int64]
) -> Floats:
    """Score of each caption with its own image, [texts], from small blocks along the diagonal."""
    own = np.empty(len(image_of), dtype=np.float32)
    for start, stop in _steps(len(bounds) - 1, PAIR_IMAGES):
        mine = by_image[bounds[start] : bounds[stop]]
        block = scorer.block(slice(start, stop), mine)
        own[mine] = block[image_of[mine] - start, np.arange(len(mine))]
    broken = int((~np.isfinite(own)).sum())
    if broken:
        raise UserError(
            f"{broken} of {len(own)} captions have no finite score with their own image; the model has "
            "diverged, use an earlier checkpoint or train again with a lower learning rate"
        )
    return own


def limit(scores: Floats) -> Floats:
    """The score from which on a wrong answer counts as standing before."""
    return np.asarray(scores - TOLERANCE * np.maximum(1.0, np.abs(scores)), dtype=np.float32)


def _steps(count: int, step: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, step):
        yield start, min(start + step, count)
