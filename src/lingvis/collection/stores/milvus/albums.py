"""The albums of a collection on a server: rows of one Milvus collection that all collections of a database share.

An album is a row with its name, and each picture in it is a row of its own, so that changes by several processes are
independent upserts and deletions. Readers wait for all changes that the server acknowledged before.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pymilvus import DataType, MilvusClient, MilvusException

from lingvis.collection.stores.albums import check_exists, check_rename, check_size
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.milvus.connection import NOT_FOUND, Connection
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
        self._turn, self._last = threading.Lock(), 0

    def counts(self) -> dict[str, int]:
        """Return the number of hashes per album."""
        rows = self._query(self._connection.now(), f"collection == {literal(self._collection)}")
        counts = Counter(row["album"] for row in rows)
        return {name: counts[key] for key, name in _named(rows)}

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of an album."""
        now = self._connection.now()
        return self._members(now, self._existing(now, name))

    def containing(self, hash: str) -> list[str]:
        """Return the names of the albums with this hash."""
        now = self._connection.now()
        keys = {row["album"] for row in self._query(now, self._of(f"hash == {literal(to_text(hash))}"))} - {
            ""
        }
        return [name for key, name in self._albums(now) if key in keys] if keys else []

    def add(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes, and make the album if necessary."""
        with self._turn:
            now = self._connection.now()
            albums = self._albums(now)
            keys = [key for key, held in albums if held == name]
            members = set(self._members(now, keys))
            added = [hash for hash in dict.fromkeys(hashes) if hash not in members]
            check_size(name, len(members) + len(added), len(albums) + (not keys))
            key = keys[0] if keys else self._free_key(name, {key for key, _ in albums})
            if not keys:
                self._store([self._row(key, album="", hash=name)])
            self._store([self._row(f"{key}/{_digest(hash)}", album=key, hash=hash) for hash in added])
            return len(added)

    def remove(self, name: str, hashes: Sequence[str]) -> int:
        """Remove hashes."""
        now = self._connection.now()
        keys = self._existing(now, name)
        removed = set(self._members(now, keys)) & set(hashes)
        self._drop([f"{key}/{_digest(hash)}" for key in keys for hash in removed])
        return len(removed)

    def rename(self, name: str, new: str) -> None:
        """Rename an album; it keeps its place."""
        now = self._connection.now()
        albums = self._albums(now)
        check_rename(name, new, [held for _, held in albums])
        for key in [key for key, held in albums if held == name]:
            (row,) = self._query(now, f"id == {literal(key)}")
            self._store([{**self._row(key, album="", hash=new), "place": row["place"]}])

    def delete(self, name: str) -> None:
        """Delete an album."""
        now = self._connection.now()
        keys = self._existing(now, name)
        self._drop([*(row["id"] for row in self._query(now, self._of(among("album", keys)))), *keys])

    def _existing(self, now: int, name: str) -> list[str]:
        """Return the keys of an album, none for favourites that are empty; raises if there is no such album."""
        albums = self._albums(now)
        check_exists(name, [held for _, held in albums])
        return [key for key, held in albums if held == name]

    def _albums(self, now: int) -> list[Album]:
        return _named(self._query(now, self._of('album == ""')))

    def _members(self, now: int, keys: Sequence[str]) -> list[str]:
        rows = self._query(now, self._of(among("album", keys))) if keys else []
        return [from_text(row["hash"]) for row in sorted(rows, key=_place)]

    def _of(self, condition: str) -> str:
        return f"collection == {literal(self._collection)} and {condition}"

    def _free_key(self, name: str, taken: set[str]) -> str:
        """Return the same key in two processes that make one album, but not that of a renamed one."""
        number = 0
        while (key := _digest(f"{self._collection}/{number}/{name}")) in taken:
            number += 1
        return key

    def _row(self, id: str, *, album: str, hash: str) -> dict[str, Any]:
        self._last = max(time.time_ns(), self._last + 1)
        return {
            "id": id,
            "collection": self._collection,
            "album": album,
            "hash": to_text(hash),
            "place": self._last,
            NONE: [0.0, 0.0],
        }

    def _query(self, now: int, condition: str) -> list[dict[str, Any]]:
        """Return rows as of a timestamp of the server or later."""
        rows: list[dict[str, Any]] = []

        def read() -> list[dict[str, Any]]:
            last = rows[-1]["id"] if rows else ""
            try:
                page = self._connection.client.query(
                    ALBUMS,
                    filter=f"id > {literal(last)} and {condition}",
                    output_fields=["id", "album", "hash", "place"],
                    limit=PAGE,
                    consistency_level="Customized",
                    guarantee_timestamp=now,
                    timeout=self._connection.seconds,
                )
            except MilvusException as error:
                if error.code == NOT_FOUND:
                    return []
                raise
            return sorted(page, key=lambda row: str(row["id"]))

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


def _named(rows: Sequence[dict[str, Any]]) -> list[Album]:
    """Return the albums among rows, in the order in which they were made."""
    return [(row["id"], from_text(row["hash"])) for row in sorted(rows, key=_place) if not row["album"]]


def _place(row: dict[str, Any]) -> tuple[int, str]:
    return row["place"], row["id"]
