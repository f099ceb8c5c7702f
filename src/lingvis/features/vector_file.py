"""An .npy file of rows that grows at its end."""

from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

SYNCED_BYTES = 2**26  # a disk writes while the next rows are made, not at the end


class VectorFile:
    """Rows [rows, width] of one type, appended one after another; a valid .npy file after `finish`.

    Until then the header has zero rows, so that an incomplete file is not mistaken for a complete one. Rows
    written earlier are kept when the file is opened again.
    """

    def __init__(self, path: Path, width: int, dtype: DTypeLike) -> None:
        self.width, self.dtype = width, np.dtype(dtype)
        self._header = len(self._header_for(0))
        path.touch()
        self._file = path.open("r+b")
        size = self._file.seek(0, os.SEEK_END)
        self.rows = max(0, size - self._header) // self.row_bytes
        if size < self._header:
            self._file.truncate(0)
            self._file.seek(0)
            self._file.write(self._header_for(0))
        self.truncate(self.rows)
        self._expected = 0
        self._sha256 = hashlib.sha256()
        self._syncer = ThreadPoolExecutor(1, thread_name_prefix="sync")
        self._syncing: Future[None] = Future()
        self._syncing.set_result(None)
        self._unsynced = 0

    def expect(self, rows: int) -> None:
        """Compute the checksum while rows are written, which is right if there are `rows` at the end."""
        if not self.rows:
            self._expected = rows
            self._sha256 = hashlib.sha256(self._header_for(rows))

    @property
    def checksum(self) -> str | None:
        """SHA-256 of the finished file, None if it was not computed."""
        return self._sha256.hexdigest() if self.rows and self.rows == self._expected else None

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.width * self.dtype.itemsize

    def append(self, rows: NDArray[Any]) -> memoryview:
        """Write rows [n, width] at the end and return their bytes."""
        block = np.ascontiguousarray(rows, dtype=self.dtype)
        if block.ndim != 2 or block.shape[1] != self.width:
            raise ValueError(f"expected rows of {self.width} values, got shape {list(block.shape)}")
        self._file.write(block.data)
        self.rows += len(block)
        if self._expected:
            self._sha256.update(block.data)
        self._unsynced += block.nbytes
        if self._unsynced >= SYNCED_BYTES and self._syncing.done():
            self._syncing.result()  # raises its error
            self._unsynced = 0
            self._syncing = self._syncer.submit(os.fsync, self._file.fileno())
        return block.data

    def read(self, start: int, stop: int) -> bytes:
        """The bytes of rows start to stop; fewer when the file is shorter."""
        self._file.seek(self._header + start * self.row_bytes)
        data = self._file.read((stop - start) * self.row_bytes)
        self._file.seek(0, os.SEEK_END)
        return data

    def truncate(self, rows: int) -> None:
        """Drop everything after the first `rows` rows."""
        self.rows = rows
        self._file.truncate(self._header + rows * self.row_bytes)
        self._file.seek(0, os.SEEK_END)

    def flush(self) -> None:
        """Pass everything to the operating system, so that a later kill loses nothing."""
        self._file.flush()

    def finish(self) -> None:
        """Write the final header and close the file."""
        self._syncing.result()
        self._file.seek(0)
        self._file.write(self._header_for(self.rows))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()

    def close(self) -> None:
        """Close the file without its final header; it can be opened again."""
        self._syncer.shutdown()
        self._file.close()

    def _header_for(self, rows: int) -> bytes:
        """The .npy header; numpy pads it, so its length does not depend on the number of rows."""
        out = io.BytesIO()
        fields = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (rows, self.width),
        }
        np.lib.format.write_array_header_1_0(out, fields)
        return out.getvalue()
