"""The rows of a collection, by path and by content; a picture has one row, a video several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lingvis.collection.stores.records import Item, StoredFile
from lingvis.collection.writer.items import picture_id
from lingvis.collection.writer.scan import ScannedFile


class StoredRows:
    """Finds the rows of a file, as they were before a pass."""

    def __init__(self, rows: Iterable[StoredFile]) -> None:
        self._first: dict[str, StoredFile] = {}
        self._more: dict[str, list[StoredFile]] = {}  # apart, since few files have more than one
        for row in rows:
            if row.path in self._first:
                self._more.setdefault(row.path, []).append(row)
            else:
                self._first[row.path] = row

    def __contains__(self, path: str) -> bool:
        return path in self._first

    def __iter__(self) -> Iterator[str]:
        """Yield the paths."""
        return iter(self._first)

    def of(self, path: str) -> list[StoredFile]:
        """Return the rows of a file; none if it is not stored."""
        first = self._first.get(path)
        return [] if first is None else [first, *self._more.get(path, ())]

    def unchanged(self, file: ScannedFile) -> StoredFile | None:
        """Return the first row of a file that is stored as it is; None if it is new, changed or half replaced."""
        rows = self.of(file.path)
        if any((row.size, row.mtime_ns) != (file.size, file.mtime_ns) for row in rows):
            return None
        return next((row for row in rows if len(rows) == 1 or row.id == picture_id(file.path)), None)


class StoredContents:
    """The hashes of all contents, and the rows of one file with each; it grows during a pass."""

    def __init__(self, stored: StoredRows) -> None:
        self._path: dict[str, str] = {}
        self._ids: dict[str, list[str]] = {}  # of videos; a picture has the id of its path
        for path in stored:
            rows = stored.of(path)
            self._path |= {row.hash: path for row in rows}
            if len(rows) > 1:
                self._ids |= {row.hash: [each.id for each in rows if each.hash == row.hash] for row in rows}

    def __contains__(self, hash: object) -> bool:
        return hash in self._path

    def __iter__(self) -> Iterator[str]:
        return iter(self._path)

    def __len__(self) -> int:
        return len(self._path)

    def ids(self, hash: str) -> list[str]:
        """Return the ids of the rows of a file that has, or had, this content."""
        return self._ids.get(hash) or [picture_id(self._path[hash])]

    def add(self, items: Sequence[Item]) -> None:
        """Add new rows, all of each file."""
        for item in items:
            info = item.info
            if self._path.get(info.hash) != info.path:
                self._path[info.hash] = info.path
                self._ids.pop(info.hash, None)
            if info.second is not None:
                ids = self._ids.setdefault(info.hash, [])
                ids.extend([info.id] if info.id not in ids else [])
