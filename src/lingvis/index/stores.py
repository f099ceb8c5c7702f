"""Which engine keeps a collection, by its address."""

from __future__ import annotations

from pathlib import Path

from lingvis.index.contract import Header, Store
from lingvis.index.lance import LanceStore
from lingvis.index.lance_folder import is_collection


def store_exists(address: str) -> bool:
    """Whether there is a collection at the address."""
    return is_collection(Path(address))


def open_store(address: str) -> Store:
    """The collection at a folder."""
    return LanceStore(Path(address))


def create_store(address: str, header: Header) -> Store:
    """A new empty collection, in the place of one that may be there."""
    return LanceStore.create(Path(address), header)
