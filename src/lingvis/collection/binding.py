"""What a collection has to know of a model: its fingerprints, and its picture side in single steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from lingvis.arrays import Floats
from lingvis.collection.stores.contract import Header
from lingvis.errors import UserError
from lingvis.features.encode import PictureEncoder
from lingvis.features.pictures import Decoded
from lingvis.model.embedder import Embedder


def describe(embedder: Embedder, run: Path) -> Header:
    """The header of a collection filled by this model."""
    if not embedder.inner_product:
        raise UserError(
            f"model {embedder.name} compares by a similarity that no index can serve; train one with "
            "similarity.name=cosine, and put its first results in order with this one: lingvis search ... --rerank RUN"
        )
    return Header(
        dim=embedder.dim,
        image_fingerprint=image_fingerprint(embedder),
        text_fingerprint=_text_fingerprint(embedder),
        model=str(run.resolve()),
        features=_features(embedder),
    )


def image_fingerprint(embedder: Embedder) -> str:
    """Hash of all that shapes a picture's embedding: the image side, and the features it takes."""
    image = [embedder.model.image_fingerprint(), _features(embedder)]
    return hashlib.sha256(json.dumps(image, sort_keys=True).encode()).hexdigest()


def _features(embedder: Embedder) -> dict[str, Any]:
    """Those that a model takes, whatever their folder is called."""
    return embedder.features.model_dump(mode="json", exclude={"name"})


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
        self._encoder = PictureEncoder(embedder.backbone, kind=features.kind, regions=features.region_mode)
        self.preprocessing = self._encoder.preprocessing

    def __call__(self, pictures: Sequence[Decoded]) -> Floats:
        """One view each -> float32 [pictures, dim]."""
        sets = self._encoder.encode(pictures, len(pictures)) if pictures else []
        return self._embedder.encode_features([encoded.values for encoded in sets])


def _text_fingerprint(embedder: Embedder) -> str:
    """Of the model's own text side, then of each language that was added: "HASH cs=HASH"; see `same_captions`."""
    own = _digest(json.dumps(embedder.trained), embedder.model.text)
    added = [f"{lang}={_digest(lang, each.branch)}" for lang, each in embedder.added.items()]
    return " ".join([own, *added])


def _digest(start: str, module: nn.Module) -> str:
    digest = hashlib.sha256(start.encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
