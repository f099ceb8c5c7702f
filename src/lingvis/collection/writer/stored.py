"""The rows of a collection before a pass, by path and by content; a video has several rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lingvis.collection.stores.records import StoredFile
from lingvis.collection.writer.items import picture_id
from lingvis.collection.writer.scan import ScannedFile


class StoredRows:
    """Finds the rows of a file."""

    def __init__(self, rows: Iterable[StoredFile]) -> None:
        self._of_path: dict[str, list[StoredFile]] = {}
        for row in rows:
            self._of_path.setdefault(row.path, []).append(row)

    def __contains__(self, path: str) -> bool:
        return path in self._of_path

    def __iter__(self) -> Iterator[str]:
        """Yield the paths."""
        return iter(self._of_path)

    def of(self, path: str) -> list[StoredFile]:
        """Return the rows of a file; none if it is not stored."""
        return self._of_path.get(path, [])

    def unchanged(self, file: ScannedFile) -> StoredFile | None:
        """Return the first row of a file that is stored as it is; None if it is new, changed or half replaced."""
        first, rows = picture_id(file.path), self.of(file.path)
        same = all((row.size, row.mtime_ns) == (file.size, file.mtime_ns) for row in rows)
        return next((row for row in rows if row.id == first), None) if same else None

    def by_hash(self) -> dict[str, list[str]]:
        """Return the ids of the rows of one file per content."""
        found: dict[str, list[str]] = {}
        for rows in self._of_path.values():
            contents = {row.hash for row in rows}
            found |= {hash: [row.id for row in rows if row.hash == hash] for hash in contents}
        return found
