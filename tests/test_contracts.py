"""The four contracts of types.py, held by every registered part."""

from __future__ import annotations

from typing import Any

import pytest

from lingvis.image.encoders import IMAGE_ENCODERS
from lingvis.objectives.ranking import OBJECTIVES
from lingvis.pooling import POOLERS
from lingvis.registry import Registry
from lingvis.similarity.measures import SIMILARITIES
from lingvis.text.encoders import TEXT_ENCODERS
from lingvis.types import Encoder, Objective, Pooler, Similarity

OPTIONS: dict[str, dict[str, Any]] = {
    "linear": {"input_dim": 4, "dim": 3},
    "residual_mlp": {"input_dim": 4, "dim": 3, "hidden": 2},
    "gru": {"input_dim": 4, "dim": 3, "bidirectional": True},
    "ranking": {"margin": 0.2, "schedule": "hardest"},
}


@pytest.mark.parametrize(
    ("registry", "contract"),
    [
        (IMAGE_ENCODERS, Encoder),
        (TEXT_ENCODERS, Encoder),
        (POOLERS, Pooler),
        (SIMILARITIES, Similarity),
        (OBJECTIVES, Objective),
    ],
    ids=lambda value: getattr(value, "kind", None) or value.__name__,
)
def test_every_part_keeps_its_contract(registry: Registry[Any], contract: type) -> None:
    assert registry.names()
    for entry in registry:
        assert isinstance(entry.factory(**OPTIONS.get(entry.name, {})), contract), entry.name
        assert entry.summary
