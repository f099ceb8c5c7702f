"""Sparse annotation: training on a part of the captions, with the captions of other images withheld."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingvis.arrays import Ints
from lingvis.data.dataset import Captions
from lingvis.errors import UserError


@dataclass(frozen=True, slots=True)
class SparseSplit:
    """captions: to train on; without: names of the images whose captions are withheld."""

    captions: Captions
    without: list[str]


def draw_captions(captions: Captions, count: int, seed: int) -> Captions:
    """`count` of the captions (0: all) and their images; with one seed, a smaller draw is part of a larger one."""
    if not count:
        return captions
    if count > len(captions.texts):
        raise UserError(
            f"data.captions is {count}, but there are {len(captions.texts)} training captions; "
            "lower it, or set it to 0 for all"
        )
    rows = np.sort(np.random.default_rng(seed).permutation(len(captions.texts))[:count])
    drawn = _only(captions, np.unique(captions.image_of[rows]), rows)
    missing = sorted(set(captions.langs) - set(drawn.langs))
    if missing:
        raise UserError(
            f"data.captions is {count}, and no caption in {', '.join(missing)} was drawn; "
            "raise it, or name fewer data.languages"
        )
    return drawn


def draw_sparse(captions: Captions, *, images: float, per_image: int, seed: int) -> SparseSplit:
    """The share `images` of the images, each with up to `per_image` captions per language (0: all), drawn by `seed`.

    Images are shuffled once and cut (Huang et al. 2019, Sec. 4.1), and so are the captions of an image in one
    language: with one seed, a smaller share or fewer captions are always part of the larger draw.
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
    return _split(captions, kept, np.sort(rows))


def named_images(captions: Captions, file: Path) -> SparseSplit:
    """All captions of the images that a file names, one image per line."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"data.annotated names {file}, which cannot be read ({error}); name a text file with one image per line"
        ) from error
    place = {image: number for number, image in enumerate(captions.images)}
    named = [line for line in lines if line]
    unknown = [image for image in named if image not in place]
    if unknown or not named:
        problem = f"{unknown[0]!r}, which has no training captions" if unknown else "no image"
        raise UserError(f"{file} names {problem}; name images of split train, one per line")
    kept = np.unique([place[image] for image in named])
    return _split(captions, kept, np.flatnonzero(np.isin(captions.image_of, kept)))


def _split(captions: Captions, images: Ints, rows: Ints) -> SparseSplit:
    others = np.setdiff1d(np.arange(len(captions.images)), images)
    return SparseSplit(_only(captions, images, rows), [captions.images[image] for image in others])


def _only(captions: Captions, images: Ints, rows: Ints) -> Captions:
    """Select images (ascending numbers) and some of their sentences."""
    return Captions(
        [captions.images[image] for image in images],
        [captions.texts[row] for row in rows],
        [captions.langs[row] for row in rows],
        np.searchsorted(images, captions.image_of[rows]).astype(np.int64),
    )


def _place_in_group(groups: Ints) -> Ints:
    """For each entry, the number of earlier entries with the same value."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    sizes = np.diff(starts, append=len(ordered))
    place = np.empty_like(groups)
    place[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return place
