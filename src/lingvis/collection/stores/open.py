"""Open or make a collection; its address decides which engine stores it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.milvus import address as milvus
from lingvis.collection.stores.postgres.address import is_postgres, parse
from lingvis.collection.stores.records import Header
from lingvis.collection.stores.servers import shown
from lingvis.errors import UserError
from lingvis.extras import report_missing

if TYPE_CHECKING:
    from lingvis.collection.stores.lance.store import LanceStore
    from lingvis.collection.stores.milvus.store import MilvusStore
    from lingvis.collection.stores.postgres.store import PostgresStore

__all__ = ["create_store", "open_store", "shown", "store_exists"]


def store_exists(address: str) -> bool:
    """Return whether there is a collection at the address."""
    if is_postgres(address):
        return _postgres().exists(parse(address))
    if milvus.is_milvus(address):
        return _milvus().exists(milvus.parse(address))
    with report_missing():
        from lingvis.collection.stores.lance.folder import is_collection

    return is_collection(Path(address))


def open_store(address: str, *, exact_values: int | None = None) -> Store:
    """Open the collection in a folder or on a server.

    exact_values: rows x dim up to which a search compares every row instead of using an index; None: the engine's default.
    """
    options = {} if exact_values is None else {"exact_values": exact_values}
    if is_postgres(address):
        return _postgres()(parse(address), **options)
    if milvus.is_milvus(address):
        return _milvus()(milvus.parse(address), **options)
    return _lance()(Path(address), **options)


def create_store(
    address: str, header: Header, *, replace: bool = True, exact_values: int | None = None
) -> Store:
    """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged."""
    options = {} if exact_values is None else {"exact_values": exact_values}
    if is_postgres(address):
        return _postgres().create(parse(address), header, replace=replace, **options)
    if milvus.is_milvus(address):
        return _milvus().create(milvus.parse(address), header, replace=replace, **options)
    return _lance().create(Path(address), header, replace=replace, **options)


def _lance() -> type[LanceStore]:
    with report_missing():
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


def _milvus() -> type[MilvusStore]:
    try:
        from lingvis.collection.stores.milvus.store import MilvusStore
    except ImportError as error:
        raise UserError("collections on Milvus need pymilvus; run: pip install 'lingvis[milvus]'") from error
    return MilvusStore
