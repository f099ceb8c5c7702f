"""What a collection has to know of a model: its fingerprints, and its picture side in single steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from lingvis.embedder import Embedder, Floats
from lingvis.errors import UserError
from lingvis.features.encode import POOLED, PictureEncoder
from lingvis.features.pictures import Decoded
from lingvis.index.contract import Header


def describe(embedder: Embedder, run: Path) -> Header:
    """The header of a collection filled by this model."""
    if not embedder.inner_product:
        raise UserError(
            f"model {embedder.name} compares by a similarity that no index can serve; train one with "
            "similarity.name=cosine"
        )
    features = {key: value for key, value in embedder.features.items() if key != "name"}
    image = [embedder.model.image_fingerprint(), features]
    return Header(
        dim=embedder.dim,
        image_fingerprint=hashlib.sha256(json.dumps(image, sort_keys=True).encode()).hexdigest(),
        text_fingerprint=_text_fingerprint(embedder),
        model=str(run.resolve()),
        features=features,
    )


def check(collection: str, stored: Header, model: Header) -> None:
    """Refuse a model with another image side than the one that filled the collection."""
    if stored.image_fingerprint != model.image_fingerprint:
        raise UserError(
            f"collection {collection} was filled by {stored.model} (image side {stored.image_fingerprint[:12]}), but "
            f"{model.model} has another image side ({model.image_fingerprint[:12]}); use the former, or embed all "
            f"pictures again with: lingvis index {collection} FOLDER... --model {model.model} --rebuild"
        )


class PictureSide:
    """Decoded pictures -> embeddings, with the backbone that the model was trained on."""

    def __init__(self, embedder: Embedder) -> None:
        features = embedder.features
        self._embedder = embedder
        self._encoder = PictureEncoder(
            embedder.backbone, kind=features["kind"], regions=features["regions"] or POOLED
        )
        self.preprocessing = self._encoder.preprocessing

    def __call__(self, pictures: Sequence[Decoded]) -> Floats:
        """One view each -> float32 [pictures, dim]."""
        sets = self._encoder.encode(pictures, len(pictures)) if pictures else []
        return self._embedder.encode_features([encoded.values for encoded in sets])


def _text_fingerprint(embedder: Embedder) -> str:
    digest = hashlib.sha256(json.dumps(embedder.languages).encode())
    for name, tensor in sorted(embedder.model.text.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
