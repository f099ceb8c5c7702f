"""Filling a collection in one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.collection.collection import Collection
from lingvis.collection.writer.indexer import Indexer, IndexReport


def index_folders(
    address: str | Path,
    folders: Sequence[Path],
    *,
    model: Path | None = None,
    device: str | None = None,
    **options: Any,
) -> IndexReport:
    """Make the collection if it does not exist, and add the folders."""
    return Collection(address, model=model, device=device).add(folders, **options)


def make_indexer(
    address: str | Path, *, model: Path | None = None, device: str | None = None, **options: Any
) -> Indexer:
    """An indexer for several passes."""
    return Collection(address, model=model, device=device).indexer(**options)
