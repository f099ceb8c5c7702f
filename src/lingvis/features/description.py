"""What a model must remember of the features it was trained on."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, PositiveInt

from lingvis.features.backbones import Preprocessing
from lingvis.features.encode import Kind, RegionMode
from lingvis.features.store import FeatureStore


class Features(BaseModel):
    """How the vectors of a store were made; `name` is that of its folder."""

    model_config = ConfigDict(extra="forbid")
    name: str
    backbone: str
    kind: Kind
    regions: RegionMode | None
    preprocessing: Preprocessing | None
    dim: PositiveInt


def describe_features(store: FeatureStore) -> dict[str, Any]:
    """`Features` of a store, as JSON holds it."""
    manifest = store.manifest
    found = Features(
        name=store.path.name,
        backbone=manifest.origin.backbone,
        kind=manifest.origin.kind,
        regions=manifest.origin.regions,
        preprocessing=manifest.preprocessing,
        dim=manifest.dim,
    )
    return found.model_dump(mode="json")
