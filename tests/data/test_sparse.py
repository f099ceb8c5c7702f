"""Sparse annotation: shares, captions of an image in a language, and what is nested in what."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lingvis.data.dataset import Captions
from lingvis.data.sparse import SparseSplit, draw_sparse
from lingvis.errors import UserError


def captions(images: int = 40) -> Captions:
    """Five English captions an image, and two German ones for every second."""
    rows = [(i, "en", f"en {i} {n}") for i in range(images) for n in range(5)]
    rows += [(i, "de", f"de {i} {n}") for i in range(0, images, 2) for n in range(2)]
    rows.sort(key=lambda row: row[0])
    return Captions(
        [f"{i}.jpg" for i in range(images)],
        [text for _, _, text in rows],
        [lang for _, lang, _ in rows],
        np.array([image for image, _, _ in rows]),
    )


def named(split: SparseSplit) -> set[tuple[str, str]]:
    """Image and caption of every row, by name."""
    found = split.captions
    return {(found.images[image], text) for image, text in zip(found.image_of, found.texts, strict=True)}


@pytest.mark.parametrize(("share", "per_image"), [(0.1, 1), (0.25, 2), (0.5, 0), (1.0, 3)])
def test_so_many_images_and_captions_are_left(share: float, per_image: int) -> None:
    whole = captions()
    split = draw_sparse(whole, images=share, per_image=per_image, seed=3)
    found = split.captions
    assert len(found.images) == round(share * 40)
    assert sorted(found.images + split.without) == sorted(whole.images)
    assert set(found.image_of) == set(range(len(found.images)))
    for image_name, text in named(split):
        assert text.split()[1] == image_name.removesuffix(".jpg")
    assert all(text.startswith(lang) for text, lang in zip(found.texts, found.langs, strict=True))
    counts = Counter(zip(found.image_of.tolist(), found.langs, strict=True))
    for (image, lang), count in counts.items():
        there = 5 if lang == "en" else 2
        assert count == (min(per_image, there) if per_image else there), (image, lang)
    german = [image for image in found.images if int(image.removesuffix(".jpg")) % 2 == 0]
    assert len([1 for _, lang in counts if lang == "de"]) == len(german)


def test_less_is_among_more_of_the_same_seed() -> None:
    def drawn(share: float, per_image: int, seed: int = 0) -> set[tuple[str, str]]:
        return named(draw_sparse(captions(), images=share, per_image=per_image, seed=seed))

    assert drawn(0.1, 1) < drawn(0.2, 1) < drawn(0.2, 2) < drawn(0.5, 5)
    assert drawn(0.2, 2) == drawn(0.2, 2)
    assert drawn(0.2, 2) != drawn(0.2, 2, seed=1)


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(UserError, match=r"data.images is 0.01, which leaves none of 40 training images"):
        draw_sparse(captions(), images=0.01, per_image=1, seed=0)
