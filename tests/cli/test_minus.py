"""Words with a minus in a search are words; options and slips are not."""

from __future__ import annotations

import pytest

from lingvis.cli.app import app
from lingvis.cli.minus import with_minus_words


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["search", "x", "dog", "-beach"], ["search", "x", "dog", "\u2212beach"]),
        (["search", "x", "-été", "-海滩", "-k", "3"], ["search", "x", "\u2212été", "\u2212海滩", "-k", "3"]),
        (["search", "x", "dog", "-k3", "-h", "--json", "-5"], None),
        (["search", "x", "dog", "-format", "jpg"], None),  # a slip: --format
        (["search", "x", "dog", "-format=jpg"], None),
        (["index", "x", "-beach"], None),
        ([], None),
    ],
)
def test_words_with_a_minus(typed: list[str], expected: list[str] | None) -> None:
    assert with_minus_words(app, typed) == (typed if expected is None else expected)
