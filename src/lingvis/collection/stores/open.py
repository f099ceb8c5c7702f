"""Which engine keeps a collection, by its address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lingvis.collection.stores.contract import Header, Store
from lingvis.collection.stores.postgres.address import is_postgres, parse
from lingvis.errors import UserError

if TYPE_CHECKING:
    from lingvis.collection.stores.lance.store import LanceStore
    from lingvis.collection.stores.postgres.store import PostgresStore


def shown(address: str | Path) -> str:
    """An address as messages may show it: without a password."""
    return parse(str(address)).shown if is_postgres(str(address)) else str(address)


def store_exists(address: str) -> bool:
    """Whether there is a collection at the address."""
    if is_postgres(address):
        return _postgres().exists(parse(address))
    from lingvis.collection.stores.lance.folder import is_collection

    return is_collection(Path(address))


def open_store(address: str) -> Store:
    """The collection in a folder or on a server."""
    return _postgres()(parse(address)) if is_postgres(address) else _lance()(Path(address))


def create_store(address: str, header: Header, *, replace: bool = True) -> Store:
    """A new empty collection; one that is there is emptied, or opened as it is unless it is to be replaced."""
    if is_postgres(address):
        return _postgres().create(parse(address), header, replace=replace)
    return _lance().create(Path(address), header, replace=replace)


def _lance() -> type[LanceStore]:
    from lingvis.collection.stores.lance.store import LanceStore

    return LanceStore


def _postgres() -> type[PostgresStore]:
    try:
        from lingvis.collection.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise UserError(
            "collections on PostgreSQL need psycopg and pgvector; run: pip install 'lingvis[postgres]'"
        ) from error
    return PostgresStore
