"""A model in use by a collection: an exported one by onnxruntime, any other by torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lingvis.arrays import Floats
from lingvis.data.picture_input import PictureInput
from lingvis.errors import UserError
from lingvis.features.description import Features
from lingvis.features.pictures import DecodedPicture
from lingvis.features.preprocessing import Preprocessing
from lingvis.model.folder import ModelConfig, missing_graphs
from lingvis.pretrained import find_model

if TYPE_CHECKING:
    from lingvis.model.embedder import Embedder
    from lingvis.model.onnx.embedder import OnnxEmbedder


class Encoder(Protocol):
    """Encodes sentences and pictures; `Embedder` does so with torch, `OnnxEmbedder` without."""

    name: str
    features: Features

    @property
    def languages(self) -> list[str]: ...
    @property
    def dim(self) -> int: ...
    @property
    def inner_product(self) -> bool: ...
    @property
    def image_fingerprint(self) -> str: ...
    @property
    def text_fingerprint(self) -> str: ...
    @property
    def uses_language(self) -> bool: ...
    @property
    def preprocessing(self) -> Preprocessing: ...

    def encode_texts(
        self, texts: Sequence[str], lang: str | Sequence[str], *, dim: int | None = None
    ) -> Floats:
        """Sentences -> float32 [texts, dim]."""
        ...

    def encode_images(self, pictures: Sequence[PictureInput], *, dim: int | None = None) -> Floats:
        """Pictures -> float32 [pictures, dim]."""
        ...

    def encode_decoded(self, pictures: Sequence[DecodedPicture]) -> Floats:
        """Pictures decoded for `preprocessing`, of one view each -> float32 [pictures, dim]."""
        ...


def load_encoder(
    run: Path | str | None = None, *, device: str | None = None, threads: int | None = None
) -> Embedder | OnnxEmbedder:
    """Load a model: its folder, or the name of a model that comes with lingvis, by default lingvis-base.

    A folder with graphs is used by onnxruntime, on the CPU. Any other needs torch, and so does the device cuda; without
    graphs and without a device, torch uses a GPU if there is one. threads: to compute with, by default one per core.
    """
    folder = find_model(run)
    missing = missing_graphs(folder, ModelConfig.read(folder))
    if not missing and device in (None, "cpu"):
        from lingvis.model.onnx.embedder import OnnxEmbedder

        return OnnxEmbedder.load(folder, threads=threads)
    try:
        import torch

        from lingvis.model.embedder import Embedder
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        remedy = (
            f"where torch is installed, run: lingvis export {folder}" if missing else "leave the device out"
        )
        reason = f"{folder} has no graphs for onnxruntime" if missing else f"device {device} needs torch"
        raise UserError(
            f"{reason}, and torch is not installed; run: pip install 'lingvis[train]', or {remedy}"
        ) from error
    if threads is not None:
        torch.set_num_threads(threads)
    return Embedder.load(folder, device=device)


def with_torch(model: Embedder | OnnxEmbedder | Path | str, device: str | None = None) -> Embedder:
    """The model with its torch modules, for example to measure it on stored features; an opened one is loaded again
    if it has none.
    """
    from lingvis.model.embedder import Embedder
    from lingvis.model.onnx.embedder import OnnxEmbedder

    if isinstance(model, Embedder):
        return model
    return Embedder.load(model.folder if isinstance(model, OnnxEmbedder) else model, device=device)
