"""The interface of an engine that stores a collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from lingvis.arrays import Floats
from lingvis.collection.stores.albums import AlbumStore
from lingvis.collection.stores.records import (
    Filter,
    FolderCount,
    Header,
    Hit,
    Item,
    MonthCount,
    PictureInfo,
    PlaceCount,
    Statistics,
    StoredFile,
)
from lingvis.errors import UserError


class FullDiskError(UserError):
    """There is no space left for rows; the next attempt may succeed."""


class MovedError(UserError):
    """The collection is on another engine since it was opened."""


class Store(Protocol):
    """Keeps the rows of a collection; several processes may read while one writes.

    Once `upsert` or `delete` has returned, its change survives a kill and a power cut.
    """

    @property
    def header(self) -> Header: ...

    @property
    def albums(self) -> AlbumStore: ...

    def replace_header(self, header: Header) -> None:
        """Store another header; the rows stay."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Context for all writes; raises UserError if another process writes."""
        ...

    def files(self) -> Iterator[StoredFile]:
        """Yield every row, in any order."""
        ...

    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows, or replace rows with the same id, in one transaction."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows; unknown ids are ignored."""
        ...

    def items(self, ids: Sequence[str]) -> list[Item]:
        """Return the existing rows with these ids, in any order."""
        ...

    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Return the embeddings of pictures, or of their captions, by id; missing ones are left out."""
        ...

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture; None if there is no such picture."""
        ...

    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the existing pictures with these ids, in any order."""
        ...

    def having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the pictures with these contents, in any order."""
        ...

    def thumbnail(self, id: str) -> bytes | None:
        """Return the JPEG thumbnail of one picture; None if there is no such picture."""
        ...

    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Return the best rows per query, float32 [queries, dim]: by picture, or with `captions` by caption."""
        ...

    def browse(self, *, k: int, offset: int = 0, where: Filter) -> list[PictureInfo]:
        """Return the newest rows after the first `offset`; those of one date are ordered by path."""
        ...

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return the months that have pictures, the latest first."""
        ...

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return the folders that have pictures themselves, ordered by path."""
        ...

    def places(self, where: Filter, *, step: float) -> list[PlaceCount]:
        """Return the squares of `step` degrees that have pictures, those with most pictures first."""
        ...

    def count(self, *, once: bool = False) -> int:
        """Return the number of rows; once: of pictures and videos."""
        ...

    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        ...

    def maintain(self) -> None:
        """Merge small files and update the search index; called after writing."""
        ...


class RowWriter(Protocol):
    """Writes rows of new pictures where a store finds them, on any machine; it can be sent there."""

    def __call__(self, items: Sequence[Item]) -> list[str]:
        """Write rows that nobody sees yet, and return names for `SharedStore.append`.

        Raises UserError where it does not reach the collection.
        """
        ...


@runtime_checkable
class SharedStore(Store, Protocol):
    """A store into which other processes can write rows."""

    def version(self) -> int:
        """Return a number that changes with the rows."""
        ...

    def row_writer(self) -> RowWriter | None:
        """Return the writer for other processes; None if what it needs is not installed."""
        ...

    def append(self, names: Sequence[str], *, rows: int) -> None:
        """Add rows that were written elsewhere, in one transaction; none of them may have the id of another row."""
        ...
