"""Whether workers may write rows themselves: the one writer adds these by name and stores all others."""

from __future__ import annotations

from lingvis.collection.stores.contract import SharedStore, Store
from lingvis.collection.writer.stored import StoredRows
from lingvis.collection.writer.workers import Direct


def rows_version(store: Store) -> int | None:
    """Return a number that changes with the rows of a store; None if workers cannot write there."""
    return store.version() if isinstance(store, SharedStore) else None


def find_direct(store: Store, stored: StoredRows, version: int | None) -> Direct | None:
    """Return what workers may write while nobody else writes; None if they cannot.

    stored: the rows of this version; if another process has changed them since, they are read again.
    """
    if not isinstance(store, SharedStore) or (writer := store.row_writer()) is None:
        return None
    return Direct(writer, stored if store.version() == version else StoredRows(store.files()))
