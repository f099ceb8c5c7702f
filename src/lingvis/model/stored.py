"""A model with a dataset's stored features at hand: what evaluation works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.description import describe_features
from lingvis.features.manifest import is_store
from lingvis.features.names import extract_command
from lingvis.features.store import FeatureStore
from lingvis.image.table import FeatureTable
from lingvis.model.embedder import Embedder

Floats = NDArray[np.float32]


class StoredEmbedder:
    """Names of pictures in, embeddings out."""

    def __init__(self, embedder: Embedder, store: FeatureStore) -> None:
        check_features(embedder, store)
        self._embedder, self.store = embedder, store
        self._tables: dict[tuple[str, ...], FeatureTable] = {}

    @classmethod
    def open(cls, embedder: Embedder, dataset: Dataset) -> StoredEmbedder:
        """With those features of the dataset that the model was trained on; says how to make them if need be."""
        folder = dataset.features_dir / embedder.features["name"]
        if not is_store(folder):
            raise UserError(
                f"no feature store at {folder}, which model {embedder.name} needs; {_how_to_get(embedder, dataset.path)}"
            )
        return cls(embedder, FeatureStore.open(folder))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def languages(self) -> Sequence[str]:
        """Those it was trained on."""
        return self._embedder.languages

    @property
    def parameters(self) -> Mapping[str, int]:
        """Number of parameters: image, text, total."""
        return self._embedder.parameters

    @property
    def inner_product(self) -> bool:
        """Whether a score is an inner product."""
        return self._embedder.inner_product

    @property
    def pooled(self) -> bool:
        """Whether an embedding is one vector."""
        return self._embedder.pooled

    def embed_images(self, names: Sequence[str]) -> Floats:
        """Stored features of the named pictures -> float32 [pictures, dim]; the table is kept for the next call."""
        key = tuple(names)
        if key not in self._tables:
            self._tables = {
                key: FeatureTable(
                    values=self.store.values,
                    offsets=self.store.offsets,
                    rows=self.store.index(names),
                    device=self._embedder.device,
                )
            }
        return self._embedder.encode_table(self._tables[key])

    def embed_texts(self, texts: Sequence[str], langs: Sequence[str]) -> Floats:
        """Sentences -> float32 [texts, dim]."""
        return self._embedder.encode_texts(texts, langs)

    def scores(self, image_emb: Floats, text_emb: Floats) -> Floats:
        """Score matrix of a similarity that is no inner product, [images, texts]."""
        return self._embedder.scores(image_emb, text_emb)


def check_features(embedder: Embedder, store: FeatureStore) -> None:
    """Refuse features that were made in another way than those the model was trained on."""
    wanted, got = embedder.features, describe_features(store)
    for key in ("backbone", "kind", "regions", "preprocessing", "dim"):
        if wanted[key] != got[key]:
            raise UserError(
                f"model {embedder.name} was trained on features with {key} {wanted[key]!r}, but {store.path} has "
                f"{got[key]!r}; rename or delete that folder, then {_how_to_get(embedder, store.path.parent.parent)}"
            )


def _how_to_get(embedder: Embedder, dataset: Path) -> str:
    """The clause that says where the features of a model come from."""
    features = embedder.features
    if features["preprocessing"] is None:  # vectors that came with a dataset: no backbone here makes them
        return (
            f"import the same {features['backbone']} features into features/{features['name']} of the dataset"
        )
    keys = ("backbone", "kind", "regions", "name")
    return f"extract them with: {extract_command(dataset, **{key: features[key] for key in keys})}"
