"""The albums of a collection in a folder: the file albums.json beside its table, which a rebuild leaves as it is."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from lingvis.collection.stores.albums import check_exists, check_rename, check_size
from lingvis.collection.stores.folder.trouble import FULL, full_disk, out_of_reach
from lingvis.errors import UserError
from lingvis.files import write_json
from lingvis.lock import exclusive
from lingvis.strict import StrictModel
from lingvis.untrusted import read_json

FILE, LOCK = "albums.json", "albums.lock"  # not the lock of the pictures, which indexing holds for hours
WAIT, PAUSE = 10.0, 0.01  # seconds
Books = dict[str, dict[str, None]]  # hashes by album, both in the order of adding


class AlbumFile(StrictModel, strict=True):
    """albums.json: hashes (SHA-256 of the files) by the name of the album."""

    format: Literal[1] = 1
    albums: dict[str, list[Annotated[str, Field(max_length=128)]]]


class FolderAlbums:
    """Albums in a file that is replaced as a whole; it is read again after a change by another process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = (
            threading.Lock()
        )  # threads of this process wait in a queue, and other processes by polling
        self._books: tuple[tuple[int, int, int] | None, Books] = (None, {})

    def counts(self) -> dict[str, int]:
        """Return the number of hashes per album."""
        return {name: len(hashes) for name, hashes in self._read().items()}

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of an album."""
        books = self._read()
        check_exists(name, books)
        return list(books.get(name, {}))

    def containing(self, hash: str) -> list[str]:
        """Return the names of the albums with this hash."""
        return [name for name, hashes in self._read().items() if hash in hashes]

    def add(self, name: str, hashes: Sequence[str]) -> int:
        """Add hashes, and make the album if necessary."""
        with self._changing() as books:
            album = books.setdefault(name, {})
            before = len(album)
            album.update(dict.fromkeys(hashes))
            check_size(name, len(album), len(books))
            return len(album) - before

    def remove(self, name: str, hashes: Sequence[str]) -> int:
        """Remove hashes."""
        with self._changing() as books:
            check_exists(name, books)
            album = books.get(name, {})
            return sum(hash in album and album.pop(hash) is None for hash in dict.fromkeys(hashes))

    def rename(self, name: str, new: str) -> None:
        """Rename an album; it keeps its place."""
        with self._changing() as books:
            check_rename(name, new, books)
            renamed = {new if key == name else key: hashes for key, hashes in books.items()}
            books.clear()
            books.update(renamed)

    def delete(self, name: str) -> None:
        """Delete an album."""
        with self._changing() as books:
            check_exists(name, books)
            books.pop(name, None)

    def _read(self) -> Books:
        file = self._folder / FILE
        try:
            status = file.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._books[0] != stamp:
                stored = AlbumFile.model_validate(read_json(file)).albums
                self._books = stamp, {name: dict.fromkeys(hashes) for name, hashes in stored.items()}
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise UserError(
                f"{file} is damaged; restore the file, or delete it to lose all albums"
            ) from error
        return self._books[1]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Books]:
        """Yield a copy of the albums, which is stored at the end unless an error is raised."""
        try:
            with self._locked():
                books = {name: dict(hashes) for name, hashes in self._read().items()}
                before = {name: list(hashes) for name, hashes in books.items()}
                yield books
                after = {name: list(hashes) for name, hashes in books.items()}
                if list(after.items()) != list(before.items()):
                    write_json(self._folder / FILE, AlbumFile(albums=after).model_dump())
        except OSError as error:
            if error.errno in FULL:
                raise full_disk(self._folder) from error
            raise out_of_reach(self._folder, error.errno or 0) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        busy = f"another process is changing the albums of {self._folder}; try again"
        end = time.monotonic() + WAIT
        with self._turn, contextlib.ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(exclusive(self._folder / LOCK, busy))
                    break
                except UserError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(PAUSE)
            yield
