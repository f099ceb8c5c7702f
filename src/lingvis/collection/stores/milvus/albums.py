"""The albums of a collection on a server: rows of one Milvus collection that all collections of a database share.

An album is a row with its name, and each picture in it is a row of its own, so that changes by several processes are
independent upserts and deletions. Rows are read at level "Strong".
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Sequence
from typing import Any

from pymilvus import DataType, MilvusClient, MilvusException

from lingvis.collection.stores.albums import check_exists, check_rename, check_size
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.milvus.connection import Connection
from lingvis.collection.stores.milvus.reading import PAGE
from lingvis.collection.stores.milvus.rows import TEXT_BYTES, among, literal

ALBUMS = "_lingvis_albums"
NONE = "none"  # every Milvus collection needs a column of vectors
CHUNK = 5000  # rows of one change
Album = tuple[str, str]  # key and name


class MilvusAlbums:
    """Albums on a server; a change of one album by two processes at once keeps both changes."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._collection = connection, connection.address.collection
        self._turn = threading.Lock()

    def counts(self) -> dict[str, int]:
        """Return the number of hashes per album."""
        return {name: len(self._members(key)) for key, name in self._albums()}

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of an album."""
        albums = self._albums()
        check_exists(name, [held for _, held in albums])
        return [hash for key, held in albums if held == name for hash in self._members(key)]

    def containing(self, hash: str) -> list[str]:
        """Return the names of the albums with this hash."""
        keys = {row["album"] for row in self._query(f"hash == {literal(hash)} and album != ''", ["album"])}
        return [name for key, name in self._albums() if key in keys] if keys else []

    def add(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes, and make the album if necessary."""
        with self._turn:
            albums = self._albums()
            key = next((key for key, held in albums if held == name), None)
            members = self._members(key) if key is not None else []
            added = [hash for hash in dict.fromkeys(hashes) if hash not in set(members)]
            check_size(name, len(members) + len(added), len(albums) + (key is None))
            if key is None:
                key = self._free_key(name, {key for key, _ in albums})
                self._store([self._row(key, album="", hash=name)])
            self._store([self._row(f"{key}/{_digest(hash)}", album=key, hash=hash) for hash in added])
            return len(added)

    def remove(self, name: str, hashes: Sequence[str]) -> int:
        """Remove hashes."""
        albums = self._albums()
        check_exists(name, [held for _, held in albums])
        removed = 0
        for key in [key for key, held in albums if held == name]:
            dropped = [f"{key}/{_digest(hash)}" for hash in set(self._members(key)) & set(hashes)]
            self._drop(dropped)
            removed += len(dropped)
        return removed

    def rename(self, name: str, new: str) -> None:
        """Rename an album; it keeps its place."""
        albums = self._albums()
        check_rename(name, new, [held for _, held in albums])
        for key in [key for key, held in albums if held == name]:
            (row,) = self._query(f"id == {literal(key)}", ["place"])
            self._store([{**self._row(key, album="", hash=new), "place": row["place"]}])

    def delete(self, name: str) -> None:
        """Delete an album."""
        albums = self._albums()
        check_exists(name, [held for _, held in albums])
        for key in [key for key, held in albums if held == name]:
            rows = self._query(f"album == {literal(key)}", ["id"])
            self._drop([key, *(row["id"] for row in rows)])

    def _albums(self) -> list[Album]:
        rows = self._query("album == ''", ["hash", "place"])
        return [(row["id"], from_text(row["hash"])) for row in sorted(rows, key=_place)]

    def _members(self, key: str) -> list[str]:
        rows = self._query(f"album == {literal(key)}", ["hash", "place"])
        return [from_text(row["hash"]) for row in sorted(rows, key=_place)]

    def _free_key(self, name: str, taken: set[str]) -> str:
        """Return the same key in two processes that make one album, but not that of a renamed one."""
        number = 0
        while (key := _digest(f"{self._collection}/{number}/{name}")) in taken:
            number += 1
        return key

    def _row(self, id: str, *, album: str, hash: str) -> dict[str, Any]:
        self._last = max(time.time_ns(), getattr(self, "_last", 0) + 1)
        return {
            "id": id,
            "collection": self._collection,
            "album": album,
            "hash": to_text(hash),
            "place": self._last,
            NONE: [0.0, 0.0],
        }

    def _query(self, condition: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        expression = f"collection == {literal(self._collection)} and ({condition})"
        rows: list[dict[str, Any]] = []

        def read() -> list[dict[str, Any]]:
            last = rows[-1]["id"] if rows else ""
            try:
                return sorted(
                    self._connection.client.query(
                        ALBUMS,
                        filter=f"id > {literal(last)} and {expression}",
                        output_fields=["id", *columns],
                        limit=PAGE,
                        consistency_level="Strong",
                        timeout=self._connection.seconds,
                    ),
                    key=lambda row: str(row["id"]),
                )
            except MilvusException as error:
                if "can't find collection" in str(error) or error.code == 100:
                    return []
                raise

        while page := self._connection.patiently(read):
            rows += page
            if len(page) < PAGE:
                break
        return rows

    def _store(self, rows: list[dict[str, Any]]) -> None:
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            self._connection.run(
                lambda chunk=chunk: self._made().upsert(ALBUMS, chunk, timeout=self._connection.seconds)  # type: ignore[misc]
            )

    def _drop(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            self._connection.run(
                lambda chunk=chunk: self._connection.client.delete(  # type: ignore[misc]
                    ALBUMS, filter=among("id", chunk), timeout=self._connection.seconds
                )
            )

    def _made(self) -> Any:
        """Return the client, after the collection of albums was made if there is none."""
        client = self._connection.client
        if not client.has_collection(ALBUMS, timeout=self._connection.seconds):
            schema: Any = MilvusClient.create_schema(auto_id=False)
            for name in ("id", "collection", "album", "hash"):
                schema.add_field(name, DataType.VARCHAR, is_primary=name == "id", max_length=TEXT_BYTES)
            schema.add_field("place", DataType.INT64)
            schema.add_field(NONE, DataType.FLOAT_VECTOR, dim=2)
            parameters: Any = client.prepare_index_params()
            parameters.add_index(NONE, index_type="FLAT", metric_type="L2")
            client.create_collection(ALBUMS, schema=schema, num_shards=1, timeout=self._connection.seconds)
            client.create_index(ALBUMS, parameters, sync=False, timeout=self._connection.seconds)
            client.load_collection(ALBUMS)
        return client


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _place(row: dict[str, Any]) -> tuple[int, str]:
    return row["place"], row["id"]
