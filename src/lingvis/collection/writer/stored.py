"""The rows of a collection as they were before a pass, by path; a picture has one row, a video several.

A hundred million rows must fit into memory, so they are columns of numbers: about 80 bytes per row, and no path.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lingvis.collection.stores.records import StoredFile
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.items import path_key

PATH_BYTES, HASH_BYTES = 16, 32


@dataclass(frozen=True, slots=True)
class Known:
    """The row of an unchanged file; caption: the key of its caption."""

    hash: str
    caption: int


def caption_key(caption: str | None) -> int:
    """Return 8 bytes that stand for a caption."""
    if caption is None:
        return 0
    return int.from_bytes(hashlib.blake2b(caption.encode(), digest_size=8).digest())


def hash_key(hash: str) -> bytes:
    """Return the bytes of a hash; of what is none, other bytes, so that no file has this content."""
    try:
        key = bytes.fromhex(hash)
    except ValueError:
        key = b""
    return key if len(key) == HASH_BYTES else hashlib.blake2b(hash.encode(), digest_size=HASH_BYTES).digest()


class StoredRows:
    """Columns of the rows, sorted by the keys of their paths.

    paths: bytes [rows]; hashes: bytes [rows]; sizes, times: int64 [rows]; captions: keys, uint64 [rows].
    """

    def __init__(self, rows: Iterable[StoredFile]) -> None:
        paths, hashes = bytearray(), bytearray()
        sizes, times, captions = array("q"), array("q"), array("Q")
        other_ids: dict[int, str] = {}  # of moments: others have the id of their path
        for number, row in enumerate(rows):
            key = path_key(row.path)
            if row.id != key.hex():
                other_ids[number] = row.id
            paths += key
            hashes += hash_key(row.hash)
            sizes.append(row.size)
            times.append(row.mtime_ns)
            captions.append(caption_key(row.caption))
        unsorted = np.frombuffer(paths, f"S{PATH_BYTES}")
        order = np.argsort(unsorted, kind="stable")
        self.paths = unsorted[order]
        self.hashes = np.frombuffer(hashes, f"S{HASH_BYTES}")[order]
        self._sizes, self._times = np.asarray(sizes)[order], np.asarray(times)[order]
        self._captions = np.asarray(captions)[order]
        places = np.flatnonzero(np.isin(order, list(other_ids))) if other_ids else ()
        self._other_ids = {int(place): other_ids[int(order[place])] for place in places}
        self._found = np.zeros(len(order), bool)

    def __len__(self) -> int:
        return len(self.paths)

    def __contains__(self, path: str, /) -> bool:
        return len(self._numbers(path_key(path))) > 0

    def _numbers(self, key: bytes) -> range:
        return range(
            int(np.searchsorted(self.paths, np.bytes_(key), "left")),
            int(np.searchsorted(self.paths, np.bytes_(key), "right")),
        )

    def ids(self, path: str) -> list[str]:
        """Return the ids of the rows of a file; none if it is not stored."""
        return [self._id(number) for number in self._numbers(path_key(path))]

    def _id(self, number: int) -> str:
        return self._other_ids.get(number) or _hex(self.paths[number], PATH_BYTES)

    def same_content(self, number: int) -> list[str]:
        """Return the ids of the rows of the same file with the same content as a row."""
        return [
            self._id(other)
            for other in self._numbers(self.paths[number])
            if self.hashes[other] == self.hashes[number]
        ]

    def compare(self, files: Sequence[ScannedFile]) -> list[Known | None]:
        """Return what is stored of each file, None if it is new, changed or half replaced; notes that they exist."""
        keys = np.frombuffer(b"".join(path_key(file.path) for file in files), f"S{PATH_BYTES}")
        starts, ends = np.searchsorted(self.paths, keys, "left"), np.searchsorted(self.paths, keys, "right")
        results: list[Known | None] = []
        for file, start, end in zip(files, starts.tolist(), ends.tolist(), strict=True):
            rows = slice(start, end)
            self._found[rows] = True
            same = (self._sizes[rows] == file.size).all() and (self._times[rows] == file.mtime_ns).all()
            first = range(start, end) if end == start + 1 else self._first_moments(start, end)
            results.append(next(map(self._known, first), None) if same else None)
        return results

    def _first_moments(self, start: int, end: int) -> Iterator[int]:
        return (number for number in range(start, end) if number not in self._other_ids)

    def _known(self, number: int) -> Known:
        return Known(hash_text(self.hashes[number]), int(self._captions[number]))

    def lost(self, rows: Iterable[StoredFile]) -> Iterator[str]:
        """Yield the paths that were stored and that `compare` was never asked for; rows: of the collection now."""
        last = ""
        for row in rows:
            numbers = self._numbers(path_key(row.path))
            if numbers and not self._found[numbers.start] and row.path != last:
                self._found[numbers.start : numbers.stop] = True  # a video comes once
                last = row.path
                yield row.path


def hash_text(key: bytes) -> str:
    """Return the hash of a key in a column."""
    return _hex(key, HASH_BYTES)


def _hex(key: bytes, length: int) -> str:
    return bytes(key).ljust(length, b"\0").hex()  # numpy drops zeros at the end
