"""Thumbnails of a collection in a folder that all machines share, one file each: rows are in the memory of the server."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lingvis.collection.stores.records import Item
from lingvis.errors import UserError
from lingvis.files import atomic_file

THREADS = 16  # each waits for the disk, which takes many files at once


class ThumbnailFolder:
    """The files of one Milvus collection; a rebuild starts another folder."""

    def __init__(self, folder: str, rows: str) -> None:
        self._folder = Path(folder) / rows

    def write(self, items: Sequence[Item]) -> None:
        """Store the thumbnails of items, before their rows."""
        try:
            with ThreadPoolExecutor(THREADS) as threads:
                list(threads.map(self._write, items))
        except OSError as error:
            raise UserError(
                f"cannot write thumbnails to {self._folder} ({os.strerror(error.errno or 0)}); check the folder, or "
                "name another one in the address (thumbnails=FOLDER)"
            ) from error

    def _write(self, item: Item) -> None:
        file = self._file(item.info.id)
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(file) as temporary:
            temporary.write_bytes(item.thumbnail)

    def read(self, id: str) -> bytes:
        """Return a thumbnail; empty if it is out of reach."""
        try:
            return self._file(id).read_bytes()
        except OSError:
            return b""

    def delete(self, ids: Sequence[str]) -> None:
        """Drop thumbnails, after their rows."""
        for id in ids:
            self._file(id).unlink(missing_ok=True)

    def drop(self) -> None:
        """Drop all."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, id: str) -> Path:
        name = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / name[:2] / f"{name}.jpg"
