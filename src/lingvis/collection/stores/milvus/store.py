"""A collection on a Milvus server or cluster."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.stores.escapes import from_text
from lingvis.collection.stores.milvus import snapshot, state
from lingvis.collection.stores.milvus.address import Address
from lingvis.collection.stores.milvus.albums import MilvusAlbums
from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.milvus.index import add_to_graph, change_to_graph, is_flat
from lingvis.collection.stores.milvus.lock import Writer
from lingvis.collection.stores.milvus.reading import Reader
from lingvis.collection.stores.milvus.rows import (
    CAPTION_ID,
    CAPTIONS,
    NO_VIDEO,
    PICTURES,
    among,
    caption_id,
    to_info,
    to_item,
    to_row,
)
from lingvis.collection.stores.milvus.search import Searcher
from lingvis.collection.stores.milvus.snapshot import Picture, Snapshot
from lingvis.collection.stores.milvus.thumbnails import ThumbnailFolder
from lingvis.collection.stores.records import (
    EMBEDDING,
    FILE_COLUMNS,
    INFO_COLUMNS,
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

# Up to this size every row is compared. Measured with 100,000 x 256 on 2 busy cores: 33 to 42 ms per query.
EXACT_VALUES = 30_000_000
CHUNK = 500  # rows of one change
Result = TypeVar("Result")


class MilvusStore:
    """An alias on the server and the Milvus collection that it names; a rebuild starts a new one.

    exact_values: rows x dim up to which search compares every row.
    """

    def __init__(self, address: Address, *, exact_values: int = EXACT_VALUES) -> None:
        self._connection, self._exact_values = Connection(address), exact_values
        self._state = state.read_state(self._connection)
        self._albums = MilvusAlbums(self._connection)
        self._snapshot = Snapshot()
        self._writer: Writer | None = None

    @classmethod
    def create(
        cls, address: Address, header: Header, *, replace: bool = True, exact_values: int = EXACT_VALUES
    ) -> MilvusStore:
        """Make an empty collection; an existing one is emptied with `replace`, otherwise opened unchanged."""
        connection = Connection(address)
        if replace or not state.exists(connection):
            with contextlib.closing(Writer(connection)):
                before = state.read_properties(connection)
                if replace or before is None:
                    state.create(connection, header)
                if replace and before is not None and (folder := state.thumbnails_of(address, before[1])):
                    ThumbnailFolder(folder, before[0]).drop()
        return cls(address, exact_values=exact_values)

    @staticmethod
    def exists(address: Address) -> bool:
        """Return whether there is a collection."""
        return state.exists(Connection(address))

    @property
    def header(self) -> Header:
        """The header that was last read."""
        return self._state.header

    @property
    def albums(self) -> MilvusAlbums:
        """The albums of the collection."""
        return self._albums

    def replace_header(self, header: Header) -> None:
        """Store another header."""
        with self._writing() as writer:
            writer.check()
            state.write_header(self._connection, self._state, header)
        self._state = replace(self._state, header=header)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Context for all writes."""
        with contextlib.closing(Writer(self._connection)) as self._writer:
            try:
                self._refresh()
                yield
            finally:
                self._writer = None

    def files(self) -> Iterator[StoredFile]:
        """Yield every row."""
        for row in Reader(self._connection, self._refresh()).scan(FILE_COLUMNS):
            yield StoredFile(*(from_text(row.get(name)) for name in FILE_COLUMNS))

    def upsert(self, items: Sequence[Item]) -> None:
        """Add rows or replace rows with the same id."""
        latest = list({item.info.id: item for item in items}.values())
        for start in range(0, len(latest), CHUNK):
            self._upsert(latest[start : start + CHUNK])

    def delete(self, ids: Sequence[str]) -> None:
        """Drop rows."""
        if ids:
            self._change(lambda: self._delete([*ids, *map(caption_id, ids)]))
            if (folder := self._folder()) is not None:
                folder.delete(ids)

    def items(self, ids: Sequence[str]) -> list[Item]:
        """Return whole rows."""
        embeddings = self.vectors(ids, captions=True)
        rows = self._among(ids, [*INFO_COLUMNS, "thumbnail", EMBEDDING])
        return [to_item(row, self._thumbnail(row), embeddings.get(from_text(row["id"]))) for row in rows]

    def vectors(self, ids: Sequence[str], *, captions: bool = False) -> dict[str, Floats]:
        """Return embeddings by id."""
        if captions:
            rows = self._among([caption_id(id) for id in ids], ["id", EMBEDDING], partition=CAPTIONS)
        else:
            rows = self._among(ids, ["id", EMBEDDING])
        return {
            from_text(row["id"].removeprefix(CAPTION_ID)): np.asarray(row[EMBEDDING], np.float32)
            for row in rows
        }

    def info(self, id: str) -> PictureInfo | None:
        """Return the record of one picture."""
        return next(iter(self.infos([id])), None)

    def infos(self, ids: Sequence[str]) -> list[PictureInfo]:
        """Return the records of pictures."""
        return [to_info(row) for row in self._among(ids, INFO_COLUMNS)]

    def having(self, hashes: Sequence[str]) -> list[PictureInfo]:
        """Return the records of the pictures with these contents."""
        return [to_info(row) for row in self._among(hashes, INFO_COLUMNS, key="hash")]

    def thumbnail(self, id: str) -> bytes | None:
        """Return the thumbnail of one picture."""
        return next((self._thumbnail(row) for row in self._among([id], ["id", "thumbnail"])), None)

    def count(self, *, once: bool = False) -> int:
        """Return the number of rows."""
        return self._read(lambda reader: reader.count(f"second in [{NO_VIDEO}, 0.0]" if once else ""))

    def statistics(self) -> Statistics:
        """Return numbers about all rows."""
        return self._read(lambda reader: snapshot.statistics(self._snapshot.pictures(reader)))

    def search(
        self, queries: Floats, *, k: int, offset: int = 0, where: Filter, captions: bool = False
    ) -> list[list[Hit]]:
        """Return the best rows per query: by the index of the collection, which compares every row unless it is large."""

        def ask(reader: Reader) -> list[list[Hit]]:
            expression = self._snapshot.expression(reader, where)
            flat = is_flat(self._connection, reader.state.rows)
            searcher = Searcher(reader, CAPTIONS if captions else PICTURES, expression, flat=flat)
            return searcher.search(queries, k, offset)

        return self._read(ask)

    def browse(self, *, k: int, offset: int = 0, where: Filter) -> list[PictureInfo]:
        """Return the newest rows."""

        def ask(reader: Reader) -> list[PictureInfo]:
            ids = [picture.id for picture in self._snapshot.passing(reader, where)[offset : offset + k]]
            infos = {info.id: info for info in map(to_info, reader.among(ids, INFO_COLUMNS))}
            return [infos[id] for id in ids if id in infos]

        return self._read(ask)

    def timeline(self, where: Filter) -> list[MonthCount]:
        """Return pictures per month."""
        return snapshot.timeline(self._passing(where))

    def folders(self, where: Filter) -> list[FolderCount]:
        """Return pictures per folder."""
        return snapshot.folders(self._passing(where))

    def places(self, where: Filter, *, step: float) -> list[PlaceCount]:
        """Return pictures per square of the map."""
        return snapshot.places(self._passing(where), step)

    def maintain(self) -> None:
        """Build the graph when every row has become too much to compare; later, let new rows join it."""
        with self._writing() as writer:
            writer.check()
            current = self._refresh()
            if not is_flat(self._connection, current.rows):
                add_to_graph(self._connection, current.rows)
            elif self.count() * self.header.dim > self._exact_values:
                change_to_graph(self._connection, current.rows, replicas=current.replicas)

    def _upsert(self, items: Sequence[Item]) -> None:
        folder = self._folder()
        if folder is not None:
            folder.write(items)
        changed = self._connection.now()
        rows = [
            to_row(item, changed=changed, thumbnail=b"" if folder is not None else item.thumbnail)
            for item in items
        ]
        noted = [item for item in items if item.caption_embedding is not None]
        captions = [to_row(item, changed=changed, thumbnail=b"", caption=True) for item in noted]
        bare = [caption_id(item.info.id) for item in items if item.caption_embedding is None]

        def write() -> None:
            # Pictures last: a row that `files` names is complete.
            if gone := [row["id"] for row in self._among(bare, ["id"], partition=CAPTIONS)]:
                self._delete(gone)
            for partition, stored in ((CAPTIONS, captions), (PICTURES, rows)):
                if stored:
                    self._connection.client.upsert(
                        self._state.rows, stored, partition_name=partition, timeout=self._connection.seconds
                    )

        self._change(write)

    def _delete(self, ids: Sequence[str]) -> None:
        self._connection.client.delete(
            self._state.rows, filter=among("id", ids), timeout=self._connection.seconds
        )

    def _change(self, action: Callable[[], None]) -> None:
        """Run a change as the only writer; everyone who reads after it sees it."""
        with self._writing() as writer:
            writer.check()
            self._refresh()
            self._connection.run(action)
            self._state = replace(self._state, written=state.mark_written(self._connection, self._state))

    def _passing(self, where: Filter) -> list[Picture]:
        return self._read(lambda reader: self._snapshot.passing(reader, where))

    def _among(
        self, values: Sequence[str], columns: Sequence[str], *, key: str = "id", partition: str = PICTURES
    ) -> list[dict[str, Any]]:
        return self._read(lambda reader: reader.among(values, columns, key=key, partition=partition))

    def _thumbnail(self, row: dict[str, Any]) -> bytes:
        folder = self._folder()
        return base64.b64decode(row["thumbnail"]) if folder is None else folder.read(from_text(row["id"]))

    def _folder(self) -> ThumbnailFolder | None:
        folder = self._state.thumbnails
        return None if folder is None else ThumbnailFolder(folder, self._state.rows)

    def _read(self, action: Callable[[Reader], Result]) -> Result:
        return self._connection.patiently(lambda: action(Reader(self._connection, self._refresh())))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writer]:
        """Yield the current writer, or a temporary one."""
        with contextlib.nullcontext() if self._writer is not None else self.writing():
            assert self._writer is not None
            yield self._writer

    def _refresh(self) -> state.State:
        """Load changes by other processes; returns the current state."""
        before, self._state = self._state, state.read_state(self._connection)
        if self.header.image_fingerprint != before.header.image_fingerprint:
            raise UserError(
                f"collection {self._connection.address.shown} was rebuilt with another model; open it again"
            )
        return self._state
