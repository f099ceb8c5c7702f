"""The contents of a collection by their hashes; it grows during a pass, and stays small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lingvis.collection.stores.records import Item
from lingvis.collection.writer.items import path_key
from lingvis.collection.writer.stored import HASH_BYTES, PATH_BYTES, StoredRows, hash_key, hash_text

LOOSE = 2**16  # entries that are not sorted yet


class NewContents:
    """Hash -> path, both as bytes, for any number of contents: 48 bytes each.

    Sorted runs of growing size, of which equal ones are merged, and a dictionary of the latest.
    """

    def __init__(self) -> None:
        self._loose: dict[bytes, bytes] = {}
        self._runs: list[tuple[NDArray[np.bytes_], NDArray[np.bytes_]]] = []

    def get(self, hash: bytes) -> bytes | None:
        """Return the path that was last set for a hash."""
        if hash in self._loose:
            return self._loose[hash]
        for hashes, paths in reversed(self._runs):
            place = (
                int(np.searchsorted(hashes, np.bytes_(hash), "right")) - 1
            )  # the last of equal ones is the latest
            if place >= 0 and hashes[place].ljust(HASH_BYTES, b"\0") == hash:
                return bytes(paths[place]).ljust(PATH_BYTES, b"\0")
        return None

    def set(self, hash: bytes, path: bytes) -> None:
        """Set the path of a hash."""
        self._loose[hash] = path
        if len(self._loose) == LOOSE:
            hashes = np.array(list(self._loose), f"S{HASH_BYTES}")
            paths = np.array(list(self._loose.values()), f"S{PATH_BYTES}")
            self._loose = {}
            while True:
                order = np.argsort(hashes, kind="stable")
                hashes, paths = hashes[order], paths[order]
                if not self._runs or len(self._runs[-1][0]) > len(hashes):
                    break
                older = self._runs.pop()
                hashes, paths = np.concatenate([older[0], hashes]), np.concatenate([older[1], paths])
            self._runs.append((hashes, paths))

    def __iter__(self) -> Iterator[bytes]:
        """Yield the hashes; one that was set twice may come twice."""
        for hashes, _ in self._runs:
            yield from (hash.ljust(HASH_BYTES, b"\0") for hash in hashes)
        yield from self._loose

    def __len__(self) -> int:
        return sum(len(hashes) for hashes, _ in self._runs) + len(self._loose)


class StoredContents:
    """The hashes of all contents, and the rows of one file with each."""

    def __init__(self, stored: StoredRows) -> None:
        self._stored, self._new = stored, NewContents()
        self._order = np.argsort(stored.hashes, kind="stable")
        self._moments: dict[
            str, list[str]
        ] = {}  # ids by hash, of new videos; a picture has the id of its path

    def __contains__(self, hash: object) -> bool:
        key = hash_key(str(hash))
        return self._new.get(key) is not None or self._number(key) is not None

    def __iter__(self) -> Iterator[str]:
        """Yield the hashes; that of several files comes several times."""
        yield from map(hash_text, self._stored.hashes)
        yield from map(hash_text, self._new)

    def __len__(self) -> int:
        """Return the number of hashes that iteration yields."""
        return len(self._stored) + len(self._new)

    def _number(self, key: bytes) -> int | None:
        """Return the number of a stored row with this content."""
        hashes = self._stored.hashes
        place = int(np.searchsorted(hashes, np.bytes_(key), "right", sorter=self._order)) - 1
        number = int(self._order[place]) if place >= 0 else -1
        return number if number >= 0 and hash_key(hash_text(hashes[number])) == key else None

    def ids(self, hash: str) -> list[str]:
        """Return the ids of the rows of a file that has, or had, this content."""
        key = hash_key(hash)
        path = self._new.get(key)
        if path is not None:
            return self._moments.get(hash) or [path.hex()]
        number = self._number(key)
        assert number is not None, "only for contents in this collection"
        return self._stored.same_content(number)

    def add_picture(self, hash: str, path: str) -> None:
        """Add the row of a new picture."""
        self._new.set(hash_key(hash), path_key(path))

    def add(self, items: Sequence[Item]) -> None:
        """Add new rows, all of each file."""
        for item in items:
            info = item.info
            key, path = hash_key(info.hash), path_key(info.path)
            if self._new.get(key) != path:
                self._new.set(key, path)
                self._moments.pop(info.hash, None)
            if info.second is not None:
                ids = self._moments.setdefault(info.hash, [])
                ids.extend([info.id] if info.id not in ids else [])
