"""Files that a pass has found, kept on the disk: a plan of any size needs no memory."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator

from lingvis.collection.writer.found import ScannedFile

BLOCK = 2**16  # bytes that are read at a time


class FileSpool:
    """A list of files in a temporary file without a name, which ends with this process; it can be read again and again."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, file: ScannedFile) -> None:
        """Add a file at the end."""
        fields = (file.path, file.size, file.mtime_ns, file.captions)
        self._file.write(json.dumps(fields).encode() + b"\n")
        self._count += 1

    def __iter__(self) -> Iterator[ScannedFile]:
        self._file.flush()
        place, rest = 0, b""
        while block := os.pread(self._file.fileno(), BLOCK, place):
            place += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                path, size, mtime_ns, captions = json.loads(line)
                yield ScannedFile(path, size, mtime_ns, tuple(captions))
