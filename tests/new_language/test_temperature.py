"""The temperature of a model's own objective, from the recipe that its folder remembers."""

from __future__ import annotations

from typing import Any

import pytest

from lingvis.new_language.run import objective_temperature


def term(**objective: Any) -> dict[str, Any]:
    return {"name": "matching", "weight": 1.0, "objective": objective}


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"terms": {"matching": term(name="contrastive", temperature=0.1)}}, 0.1),
        ({"terms": {"people": term(name="contrastive", temperature=0.2, learned=False)}}, 0.2),
        ({"terms": {"matching": term(name="contrastive", temperature=0.1, learned=True)}}, 0.05),
        ({"terms": {"matching": term(name="ranking", margin=0.2)}}, 0.05),
        ({"objective": {"name": "contrastive", "temperature": 0.3}, "terms": {}}, 0.3),  # format 1
        ({}, 0.05),
    ],
)
def test_theobjective_temperature_is_found_or_usual(recipe: dict[str, Any], expected: float) -> None:
    assert objective_temperature(recipe) == expected
