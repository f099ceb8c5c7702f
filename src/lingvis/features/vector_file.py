"""An .npy file of rows that grows at its end."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


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
        self._file.seek(0)
        self._file.write(self._header_for(self.rows))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        """Close the file without its final header; it can be opened again."""
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
