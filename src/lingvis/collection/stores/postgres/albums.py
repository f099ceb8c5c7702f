"""The albums of a collection on a server: rows of two tables that all collections of the database share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lingvis.collection.stores.albums import check_exists, check_rename, check_size
from lingvis.collection.stores.escapes import from_text, to_text
from lingvis.collection.stores.postgres.address import Address
from lingvis.collection.stores.postgres.connection import Connection, ConnectionPool, Result, ask
from lingvis.collection.stores.postgres.migrations import has_albums
from lingvis.errors import UserError

COUNTS = """
    SELECT name, count(hash) FROM lingvis_albums LEFT JOIN lingvis_album_pictures
        ON lingvis_album_pictures.collection = lingvis_albums.collection AND album = name
    WHERE lingvis_albums.collection = %s GROUP BY name, created ORDER BY created, name
"""
HASHES = "SELECT hash FROM lingvis_album_pictures WHERE collection = %s AND album = %s ORDER BY place"
CONTAINING = """
    SELECT name FROM lingvis_albums JOIN lingvis_album_pictures
        ON lingvis_album_pictures.collection = lingvis_albums.collection AND album = name
    WHERE lingvis_albums.collection = %s AND hash = %s ORDER BY created, name
"""
MAKE = "INSERT INTO lingvis_albums (collection, name) VALUES (%s, %s) ON CONFLICT DO NOTHING"
# One change of an album at a time, and none of them waits for another forever: all lock this row first.
LOCK = "SELECT FROM lingvis_albums WHERE collection = %s AND name = %s FOR UPDATE"
ADD = """
    INSERT INTO lingvis_album_pictures (collection, album, hash)
    SELECT %s, %s, hash FROM unnest(%s::text[]) WITH ORDINALITY AS added (hash, number) ORDER BY number
    ON CONFLICT DO NOTHING
"""
REMOVE = "DELETE FROM lingvis_album_pictures WHERE collection = %s AND album = %s AND hash = ANY(%s)"
RENAME = "UPDATE lingvis_albums SET name = %s WHERE collection = %s AND name = %s"
DELETE = "DELETE FROM lingvis_albums WHERE collection = %s AND name = %s"


class DatabaseAlbums:
    """Albums in a database; each change is one transaction."""

    def __init__(self, address: Address, pool: ConnectionPool) -> None:
        self._address, self._pool, self._collection = address, pool, address.collection

    def counts(self) -> dict[str, int]:
        """Return the number of hashes per album."""
        return self._pool.read(self._counts)

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of an album."""

        def read(connection: Connection) -> list[str]:
            check_exists(name, self._counts(connection))
            return self._hashes(connection, name)

        return self._pool.read(read)

    def containing(self, hash: str) -> list[str]:
        """Return the names of the albums with this hash."""

        def read(connection: Connection) -> list[str]:
            if not has_albums(connection):
                return []
            rows = connection.execute(CONTAINING, [self._collection, to_text(hash)])
            return [from_text(name) for (name,) in rows]

        return self._pool.read(read)

    def add(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes, and make the album if necessary."""
        key = [self._collection, to_text(name)]

        def change(connection: Connection) -> int:
            connection.execute(MAKE, key)
            connection.execute(LOCK, key)
            added = connection.execute(
                ADD, [*key, [to_text(hash) for hash in dict.fromkeys(hashes)]]
            ).rowcount
            counts = self._counts(connection)
            check_size(name, counts[name], len(counts))
            return added

        return self._change(change)

    def remove(self, name: str, hashes: Sequence[str]) -> int:
        """Remove hashes."""
        key = [self._collection, to_text(name)]

        def change(connection: Connection) -> int:
            check_exists(name, self._counts(connection))
            connection.execute(LOCK, key)
            return connection.execute(REMOVE, [*key, [to_text(hash) for hash in hashes]]).rowcount

        return self._change(change)

    def rename(self, name: str, new: str) -> None:
        """Rename an album."""

        def change(connection: Connection) -> None:
            check_rename(name, new, self._counts(connection))
            connection.execute(RENAME, [to_text(new), self._collection, to_text(name)])

        self._change(change)

    def delete(self, name: str) -> None:
        """Delete an album."""

        def change(connection: Connection) -> None:
            check_exists(name, self._counts(connection))
            connection.execute(DELETE, [self._collection, to_text(name)])

        self._change(change)

    def _counts(self, connection: Connection) -> dict[str, int]:
        if not has_albums(connection):
            return {}
        rows = connection.execute(COUNTS, [self._collection])
        return {from_text(name): count for name, count in rows}

    def _hashes(self, connection: Connection, name: str) -> list[str]:
        if not has_albums(connection):
            return []
        rows = connection.execute(HASHES, [self._collection, to_text(name)])
        return [from_text(hash) for (hash,) in rows]

    def _change(self, action: Callable[[Connection], Result]) -> Result:
        """Run a change in one transaction, on a connection that may wait for others as long as writing may."""

        def changed(connection: Connection) -> Result:
            if not has_albums(connection):
                raise UserError(
                    f"the tables of {self._address.shown} are of an earlier version, without albums; let the owner of the "
                    "tables open the collection once"
                )
            with connection.transaction():
                return action(connection)

        return ask(self._address, changed)
