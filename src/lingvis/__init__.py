"""Small multilingual visual-semantic embeddings: train, measure and search pictures in many languages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lingvis.collection.collection import Collection
    from lingvis.data.dataset import Dataset
    from lingvis.evaluation.run import evaluate
    from lingvis.features.extract import extract as extract_features
    from lingvis.model.compress import compress
    from lingvis.model.embedder import Embedder
    from lingvis.model.onnx.embedder import OnnxEmbedder
    from lingvis.model.onnx.export import export
    from lingvis.new_language.run import add_language
    from lingvis.suggestion.run import suggest
    from lingvis.training.run import train

    load = Embedder.load

__version__ = "0.1.0"
__all__ = [
    "Collection",
    "Dataset",
    "Embedder",
    "OnnxEmbedder",
    "__version__",
    "add_language",
    "compress",
    "evaluate",
    "export",
    "extract_features",
    "load",
    "suggest",
    "train",
]

# Public name -> its module and attribute.
_PLACES = {
    "Collection": ("lingvis.collection.collection", "Collection"),
    "Dataset": ("lingvis.data.dataset", "Dataset"),
    "Embedder": ("lingvis.model.embedder", "Embedder"),
    "OnnxEmbedder": ("lingvis.model.onnx.embedder", "OnnxEmbedder"),
    "add_language": ("lingvis.new_language.run", "add_language"),
    "compress": ("lingvis.model.compress", "compress"),
    "evaluate": ("lingvis.evaluation.run", "evaluate"),
    "export": ("lingvis.model.onnx.export", "export"),
    "extract_features": ("lingvis.features.extract", "extract"),
    "load": ("lingvis.model.embedder", "Embedder.load"),
    "suggest": ("lingvis.suggestion.run", "suggest"),
    "train": ("lingvis.training.run", "train"),
}


def __getattr__(name: str) -> Any:
    """Import the stage of a public name at first use, so that `import lingvis` is fast."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lingvis' has no attribute {name!r}")
    module, attributes = _PLACES[name]
    value: Any = import_module(module)
    for attribute in attributes.split("."):
        value = getattr(value, attribute)
    return value


def __dir__() -> list[str]:
    return __all__
