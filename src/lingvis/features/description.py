"""The description of features that a model keeps, to make the same features of new pictures."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, PositiveInt

from lingvis.features.backbones import Preprocessing
from lingvis.features.encode import Kind, RegionMode
from lingvis.features.store import FeatureStore


class Features(BaseModel):
    """How the vectors of a store were made; name: the folder of the store."""

    model_config = ConfigDict(extra="forbid")
    name: str
    backbone: str
    kind: Kind
    regions: RegionMode | None
    preprocessing: Preprocessing | None
    dim: PositiveInt


def describe_features(store: FeatureStore) -> dict[str, Any]:
    """`Features` of a store, as JSON values."""
    manifest = store.manifest
    features = Features(
        name=store.path.name,
        backbone=manifest.origin.backbone,
        kind=manifest.origin.kind,
        regions=manifest.origin.regions,
        preprocessing=manifest.preprocessing,
        dim=manifest.dim,
    )
    return features.model_dump(mode="json")
