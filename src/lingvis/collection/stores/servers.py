"""Addresses of collections on servers, as opposed to folders."""

from __future__ import annotations

from pathlib import Path

from lingvis.collection.stores.milvus import address as milvus
from lingvis.collection.stores.postgres import address as postgres


def is_server(address: str) -> bool:
    """Return whether an address names a server and not a folder."""
    return postgres.is_postgres(address) or milvus.is_milvus(address)


def name_on_server(address: str) -> str:
    """Return the name of a collection on its server."""
    if milvus.is_milvus(address):
        return milvus.parse(address).collection
    return postgres.parse(address).collection


def shown(address: str | Path) -> str:
    """Return an address for messages, without a password."""
    text = str(address)
    if milvus.is_milvus(text):
        return milvus.parse(text).shown
    return postgres.parse(text).shown if postgres.is_postgres(text) else text
