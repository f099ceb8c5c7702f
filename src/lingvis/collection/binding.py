"""Fingerprints that bind a collection to a model, and the checks that both fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.arrays import Floats
from lingvis.collection.stores.records import Header
from lingvis.errors import UserError
from lingvis.features.pictures import DecodedPicture
from lingvis.model.encoder import Encoder
from lingvis.pretrained import to_reference


def describe(embedder: Encoder, run: Path) -> Header:
    """Return the header of a collection that this model fills."""
    if not embedder.inner_product:
        raise UserError(
            f"model {embedder.name} has a similarity that no index supports; train one with "
            "similarity.name=cosine, and re-rank its first results with this one: lingvis search ... --rerank RUN"
        )
    return Header(
        dim=embedder.dim,
        image_fingerprint=image_fingerprint(embedder),
        text_fingerprint=embedder.text_fingerprint,
        model=to_reference(run),
        features=_features(embedder),
    )


def image_fingerprint(embedder: Encoder) -> str:
    """Return a hash of everything that determines a picture's embedding: the image side and its features."""
    image = [embedder.image_fingerprint, _features(embedder)]
    return hashlib.sha256(json.dumps(image, sort_keys=True).encode()).hexdigest()


def check_image_side(collection: str, stored: Header, model: Header) -> None:
    """Raise if the model's image side is not the one that filled the collection."""
    if stored.image_fingerprint != model.image_fingerprint:
        raise UserError(
            f"collection {collection} was filled by {stored.model} (image side {stored.image_fingerprint[:12]}), but "
            f"{model.model} has another image side ({model.image_fingerprint[:12]}); use the first, or encode all "
            f"pictures again with: lingvis index {collection} FOLDER... --model {model.model} --rebuild"
        )


def same_captions(stored: str, other: str) -> bool:
    """Return whether captions encoded by one text side are valid for another, given both text fingerprints.

    Either may have additional languages; the fingerprints of all common languages must be equal.
    """
    (base, *added), (other_base, *other_added) = stored.split(" "), other.split(" ")
    first, second = (dict(lang.split("=") for lang in listed) for listed in (added, other_added))
    return base == other_base and all(first[lang] == second[lang] for lang in first.keys() & second.keys())


class ImageEmbedder:
    """Decoded pictures -> embeddings, by the backbone and the image side of a model."""

    def __init__(self, embedder: Encoder) -> None:
        self._embedder = embedder
        self.preprocessing = embedder.preprocessing

    def __call__(self, pictures: Sequence[DecodedPicture]) -> Floats:
        """Encode pictures of one view each; returns float32 [pictures, dim]."""
        return self._embedder.encode_decoded(pictures)


def _features(embedder: Encoder) -> dict[str, Any]:
    """Return the description of a model's features, without the name of their folder."""
    return embedder.features.model_dump(mode="json", exclude={"name"})
