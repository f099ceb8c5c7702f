"""A cache of picture vectors of a re-ranking model: in memory, and optionally in a folder."""

from __future__ import annotations

import contextlib
import io
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.files import atomic_file
from lingvis.untrusted import read_bytes

Half = NDArray[np.float16]
REMEMBERED = 1000  # pictures kept in memory: 100 MB of 49 x 1024 values each


class PictureCache:
    """Vectors of pictures by the hash of their content, so that entries never become stale.

    folder: one per model; it may be deleted at any time. A file that cannot be read or written, or is damaged, is
    ignored: the vectors are computed again. dim: of a vector.
    """

    def __init__(self, folder: Path | None, dim: int) -> None:
        self._folder, self._dim = folder, dim
        self._kept: OrderedDict[str, Half] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, hash: str) -> bool:
        return self.get(hash) is not None

    def get(self, hash: str) -> Half | None:
        """Return the vectors of a content; None if they are not cached."""
        with self._lock:
            if hash not in self._kept and self._folder is not None:
                # numpy evaluates the header, so a damaged one can raise nearly anything
                with contextlib.suppress(Exception):
                    self._keep(hash, self._load(hash))
            if hash in self._kept:
                self._kept.move_to_end(hash)
            return self._kept.get(hash)

    def put(self, hash: str, vectors: Half) -> None:
        """Store the vectors of a content."""
        with self._lock:
            self._keep(hash, vectors)
        if self._folder is not None:
            with contextlib.suppress(OSError, UserError):
                file = self._file(hash)
                file.parent.mkdir(parents=True, exist_ok=True)
                with atomic_file(file) as temporary, temporary.open("wb") as out:
                    np.save(out, vectors, allow_pickle=False)

    def _keep(self, hash: str, vectors: Half) -> None:
        self._kept[hash] = vectors
        if len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)

    def _load(self, hash: str) -> Half:
        vectors: Half = np.load(io.BytesIO(read_bytes(self._file(hash))), allow_pickle=False)
        if (
            vectors.dtype != np.float16
            or vectors.shape[-1:] != (self._dim,)
            or not np.isfinite(vectors).all()
        ):
            raise ValueError(f"vectors of {vectors.dtype}, {vectors.shape}")
        return vectors

    def _file(self, hash: str) -> Path:
        assert self._folder is not None
        return self._folder / hash[:2] / f"{hash}.npy"
