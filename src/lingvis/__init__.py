"""Small multilingual visual-semantic embeddings: train, measure and search pictures in many languages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lingvis.collection.collection import Collection
    from lingvis.collection.stores.records import Filter, Hit
    from lingvis.data.dataset import Dataset
    from lingvis.errors import UserError
    from lingvis.evaluation.compare import compare
    from lingvis.evaluation.run import evaluate
    from lingvis.features.extract import extract as extract_features
    from lingvis.model.compress import compress
    from lingvis.model.embedder import Embedder
    from lingvis.model.encoder import load_encoder as load
    from lingvis.model.onnx.embedder import OnnxEmbedder
    from lingvis.model.onnx.export import export
    from lingvis.new_language.run import add_language
    from lingvis.relevance.run import calibrate
    from lingvis.suggestion.run import suggest
    from lingvis.training.run import train

__version__ = "0.1.0"
__all__ = [
    "Collection",
    "Dataset",
    "Embedder",
    "Filter",
    "Hit",
    "OnnxEmbedder",
    "UserError",
    "__version__",
    "add_language",
    "calibrate",
    "compare",
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
    "Filter": ("lingvis.collection.stores.records", "Filter"),
    "Hit": ("lingvis.collection.stores.records", "Hit"),
    "OnnxEmbedder": ("lingvis.model.onnx.embedder", "OnnxEmbedder"),
    "UserError": ("lingvis.errors", "UserError"),
    "add_language": ("lingvis.new_language.run", "add_language"),
    "calibrate": ("lingvis.relevance.run", "calibrate"),
    "compare": ("lingvis.evaluation.compare", "compare"),
    "compress": ("lingvis.model.compress", "compress"),
    "evaluate": ("lingvis.evaluation.run", "evaluate"),
    "export": ("lingvis.model.onnx.export", "export"),
    "extract_features": ("lingvis.features.extract", "extract"),
    "load": ("lingvis.model.encoder", "load_encoder"),
    "suggest": ("lingvis.suggestion.run", "suggest"),
    "train": ("lingvis.training.run", "train"),
}


def __getattr__(name: str) -> Any:
    """Import the stage of a public name at first use, so that `import lingvis` is fast."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lingvis' has no attribute {name!r}")
    from lingvis.extras import report_missing

    module, attribute = _PLACES[name]
    with report_missing():
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
