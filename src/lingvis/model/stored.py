"""Embeddings of a dataset's pictures by name, from stored features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.description import describe_features
from lingvis.features.manifest import is_store
from lingvis.features.names import extract_command
from lingvis.features.store import FeatureStore
from lingvis.image.table import FeatureTable
from lingvis.model.embedder import Embedder


class StoredImages:
    """Names of pictures -> their embeddings by `model`, from stored features."""

    def __init__(self, model: Embedder, store: FeatureStore) -> None:
        check_features(model, store)
        self.model, self.store = model, store
        self._tables: dict[tuple[str, ...], FeatureTable] = {}

    @classmethod
    def open(cls, model: Embedder, dataset: Dataset) -> StoredImages:
        """Open the dataset's features for a model; if missing, raises with the command that makes them."""
        folder = dataset.features_dir / model.features.name
        if not is_store(folder):
            raise UserError(
                f"no feature store at {folder}, which model {model.name} needs; {_how_to_get(model, dataset.path)}"
            )
        return cls(model, FeatureStore.open(folder))

    def encode(self, names: Sequence[str]) -> Floats:
        """Embeddings of the named pictures, float32 [pictures, dim]; the feature table is kept for the next call."""
        key = tuple(names)
        if key not in self._tables:
            self._tables = {
                key: FeatureTable(
                    values=self.store.values,
                    offsets=self.store.offsets,
                    rows=self.store.index(names),
                    device=self.model.device,
                )
            }
        return self.model.encode_table(self._tables[key])


def check_features(model: Embedder, store: FeatureStore) -> None:
    """Raise if features were made differently from the features in training."""
    expected = model.features.model_dump(mode="json", exclude={"name"})
    stored = describe_features(store).model_dump(mode="json")
    for key, value in expected.items():
        if value != stored[key]:
            raise UserError(
                f"model {model.name} was trained on features with {key} {value!r}, but {store.path} has "
                f"{stored[key]!r}; rename or delete this folder, then {_how_to_get(model, store.path.parent.parent)}"
            )


def _how_to_get(model: Embedder, dataset: Path) -> str:
    """A clause for messages: how to get the features of a model."""
    features = model.features
    if features.preprocessing is None:  # vectors that came with a dataset: no backbone can make them
        return f"import the same {features.backbone} features into features/{features.name} of the dataset"
    command = extract_command(
        dataset,
        backbone=features.backbone,
        kind=features.kind,
        regions=features.regions,
        name=features.name,
    )
    return f"extract them with: {command}"
