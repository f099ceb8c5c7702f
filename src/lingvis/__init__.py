"""Small multilingual visual-semantic embeddings: train, measure and search pictures in many languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lingvis.collection.collection import Collection
    from lingvis.data.dataset import Dataset
    from lingvis.model.embedder import Embedder
    from lingvis.new_language.run import add_language

    load = Embedder.load

__version__ = "0.1.0"
__all__ = ["Collection", "Dataset", "Embedder", "__version__", "add_language", "load"]


def __getattr__(name: str) -> Any:
    """Public names load their stage when first used, so that `import lingvis` is light."""
    if name in ("Embedder", "load"):
        from lingvis.model.embedder import Embedder

        return Embedder if name == "Embedder" else Embedder.load
    if name == "Dataset":
        from lingvis.data.dataset import Dataset

        return Dataset
    if name == "Collection":
        from lingvis.collection.collection import Collection

        return Collection
    if name == "add_language":
        from lingvis.new_language.run import add_language

        return add_language
    raise AttributeError(f"module 'lingvis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
