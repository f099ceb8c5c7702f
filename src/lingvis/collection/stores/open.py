"""Open or make a collection; its address decides which engine stores it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.folder.header import ENGINES, Engine, is_collection, read_header
from lingvis.collection.stores.milvus import address as milvus
from lingvis.collection.stores.postgres.address import is_postgres, parse
from lingvis.collection.stores.records import Header
from lingvis.collection.stores.servers import is_server, shown
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.errors import UserError, choices

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
    return is_collection(Path(address))


def open_store(address: str, *, exact_values: int | None = None) -> Store:
    """Open the collection in a folder or on a server.

    exact_values: rows x dim up to which a search compares every row instead of using an index, for engines that have one;
    None: the engine's default.
    """
    options = {} if exact_values is None else {"exact_values": exact_values}
    if is_postgres(address):
        return _postgres()(parse(address), **options)
    if milvus.is_milvus(address):
        return _milvus()(milvus.parse(address), **options)
    folder = Path(address)
    if read_header(folder).engine == "lance":
        return _lance(folder)(folder, **options)
    return SqliteStore(folder)


def create_store(
    address: str,
    header: Header,
    *,
    engine: Engine | None = None,
    replace: bool = True,
    exact_values: int | None = None,
) -> Store:
    """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged.

    engine: of a collection in a folder; None: the one that it has, or SQLite.
    """
    options = {} if exact_values is None else {"exact_values": exact_values}
    check_engine(address, engine, replace=replace)
    if is_postgres(address):
        return _postgres().create(parse(address), header, replace=replace, **options)
    if milvus.is_milvus(address):
        return _milvus().create(milvus.parse(address), header, replace=replace, **options)
    folder = Path(address)
    if engine is None and is_collection(folder):
        engine = read_header(folder).engine
    if engine == "lance":
        return _lance(folder).create(folder, header, replace=replace, **options)
    return SqliteStore.create(folder, header, replace=replace)


def check_engine(address: str, engine: Engine | None, *, replace: bool) -> None:
    """Raise if a collection cannot be on this engine: it is on a server, or on another one and not replaced."""
    if engine is None:
        return
    if engine not in ENGINES:
        raise UserError(f"unknown engine {engine!r}; choose one of: {choices(ENGINES)}")
    if is_server(address):
        raise UserError(
            f"{shown(address)} is on a server, but engine {engine} keeps a collection in a folder; leave the "
            "engine out, or name a folder"
        )
    folder = Path(address)
    if not replace and is_collection(folder) and (stored := read_header(folder).engine) != engine:
        raise UserError(
            f"collection {folder} is on engine {stored}, not {engine}; leave the engine out, or encode all pictures "
            f"again with: lingvis index {folder} FOLDER... --engine {engine} --rebuild"
        )


def _lance(folder: Path) -> type[LanceStore]:
    try:
        from lingvis.collection.stores.lance.store import LanceStore
    except ImportError as error:
        raise UserError(
            f"collection {folder} needs LanceDB, which is not installed; run: pip install 'lingvis[lance]'"
        ) from error
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
