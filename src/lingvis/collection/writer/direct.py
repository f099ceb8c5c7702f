"""Rows that workers write themselves: those of new pictures. The one writer adds them by name and stores all others."""

from __future__ import annotations

from dataclasses import dataclass

from lingvis.collection.stores.contract import RowWriter, SharedStore, Store
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.stored import StoredRows


@dataclass(frozen=True, slots=True)
class Direct:
    """Which rows workers may write, and how."""

    writer: RowWriter
    stored: StoredRows

    def allows(self, file: ScannedFile) -> bool:
        """Return whether the row of a file replaces none and needs nothing that only the one writer has.

        A copy of another new picture needs nothing either: its row is the same as if this one were encoded.
        """
        return not file.captions and not file.is_video and file.path not in self.stored


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
