"""Rows of the language tables: how often their batches have a language."""

from __future__ import annotations

import numpy as np
import pytest

from lingvis.terms import Origin
from lingvis.training.build import build_sampler
from lingvis.training.sampling import SentenceTable
from lingvis.training.validate import load_recipe
from studies.languages.rows import LANGUAGES, LIWE_PASSES, ROWS, TRANSLATED

PICTURES = 2000
# Captions per picture of flickr8k-ml.
CAPTIONS = dict.fromkeys(LANGUAGES, 5) | {"fr": 1, "cs": 1, "ar": 3} | dict.fromkeys(TRANSLATED, 1)


def english_batches(name: str) -> float:
    """How many batches per epoch have English captions, as a multiple of the pictures' batches."""
    recipe = load_recipe(ROWS[name].recipe, ROWS[name].overrides)
    languages = recipe.data.languages or list(LANGUAGES)
    cells = [
        (picture, lang) for picture in range(PICTURES) for lang in languages for _ in range(CAPTIONS[lang])
    ]
    groups = np.array([picture for picture, _ in cells])
    langs = np.array([languages.index(lang) for _, lang in cells])
    table = SentenceTable(groups, langs, np.full(len(cells), 9), np.full(len(cells), Origin.HUMAN, np.int8))
    batches = [rows for epoch in range(10) for rows in build_sampler(recipe, table).epoch(0, epoch)]
    with_english = sum(bool((langs[rows] == 0).any()) for rows in batches)
    return with_english / 10 / -(-PICTURES // recipe.training.batch_size)


def test_two_languages_are_in_every_batch() -> None:
    assert english_batches("s_liwe-2") == LIWE_PASSES


@pytest.mark.parametrize("name", ["s_liwe-7-equal", "s_liwe-10-equal", "s_liwe-2-es-uk"])
def test_english_is_seen_as_often_as_with_two_languages(name: str) -> None:
    assert english_batches(name) == pytest.approx(LIWE_PASSES, rel=0.06)


def test_without_more_passes_it_is_seen_less() -> None:
    assert english_batches("s_liwe-10") < 0.3 * LIWE_PASSES
