"""The description of features in a model folder, used to make the same features for new pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveInt

from lingvis.features.kinds import POOLED, Kind, RegionMode
from lingvis.features.preprocessing import Preprocessing

if TYPE_CHECKING:
    from lingvis.features.store import FeatureStore


def _folder_name(name: str) -> str:
    if Path(name).name != name:
        raise ValueError(f"{name!r} is not the name of a folder")
    return name


class Features(BaseModel):
    """How the vectors of a store were made; name: the folder of the store."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: Annotated[str, AfterValidator(_folder_name)]
    backbone: str
    kind: Kind
    regions: RegionMode | None
    preprocessing: Preprocessing | None
    dim: PositiveInt

    @property
    def region_mode(self) -> RegionMode:
        """How regions of a picture are encoded; the default for features of other kinds."""
        return self.regions or POOLED


def describe_features(store: FeatureStore) -> Features:
    """How the features of a store were made."""
    manifest = store.manifest
    return Features(
        name=store.path.name,
        backbone=manifest.origin.backbone,
        kind=manifest.origin.kind,
        regions=manifest.origin.regions,
        preprocessing=manifest.preprocessing,
        dim=manifest.dim,
    )
