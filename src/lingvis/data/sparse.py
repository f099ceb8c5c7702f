"""Sparse annotation: of all pictures only some have captions, and of their captions only some are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Captions
from lingvis.errors import UserError


@dataclass(frozen=True, slots=True)
class SparseSplit:
    """captions: what is left of the annotation; without: names of the pictures whose captions were put away."""

    captions: Captions
    without: list[str]


def draw_sparse(captions: Captions, *, images: float, per_image: int, seed: int) -> SparseSplit:
    """A share of the images with up to `per_image` captions each in every language, 0 for all; drawn by `seed`.

    Images are shuffled once and cut (Huang et al. 2019, Sec. 4.1), and so are the captions of an image in a
    language: a smaller share, or fewer captions, of the same seed are always among the larger.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(captions.images))
    kept = np.sort(order[: round(images * len(order))])
    if not len(kept):
        raise UserError(
            f"data.images is {images:g}, which leaves none of {len(order)} training images; raise it"
        )
    shuffled = generator.permutation(len(captions.texts))
    rows = shuffled[np.isin(captions.image_of[shuffled], kept)]
    if per_image:
        _, langs = np.unique(captions.langs, return_inverse=True)
        cells = captions.image_of[rows] * (langs.max() + 1) + langs[rows]
        rows = rows[_place_in_group(cells) < per_image]
    rows = np.sort(rows)
    place = np.full(len(captions.images), -1)
    place[kept] = np.arange(len(kept))
    away = np.setdiff1d(order, kept)
    return SparseSplit(
        Captions(
            [captions.images[image] for image in kept],
            [captions.texts[row] for row in rows],
            [captions.langs[row] for row in rows],
            place[captions.image_of[rows]],
        ),
        [captions.images[image] for image in away],
    )


def _place_in_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many earlier entries have the same value."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    sizes = np.diff(starts, append=len(ordered))
    place = np.empty_like(groups)
    place[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return place
