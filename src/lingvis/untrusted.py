"""Files that strangers may have written, read within bounds: wrong content is always a ValueError."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from lingvis import files

MOST_BYTES = 1 << 30  # of a file that is read as a whole
MOST_LINE_BYTES = 1 << 21
MOST_DEPTH = 100  # of lists and objects inside one another
# A packed file may hold this many bytes in any case, and this many times its own size.
SMALL_BYTES, MOST_TIMES = 1 << 26, 200
SHORT_LINE = (
    16  # bytes that a line of a packed file counts at least: reading millions of empty ones takes long
)
BUFFER = 1 << 20


def open_regular(file: Path) -> BinaryIO:
    """Open a regular file for reading, as `lingvis.files.open_regular` does."""
    try:
        return files.open_regular(file)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise ValueError(f"{file.name}: {error.strerror}") from None
        raise


def check_regular(file: Path) -> None:
    """Raise unless there is a regular file, for libraries that open files by name."""
    open_regular(file).close()


def read_bytes(file: Path) -> bytes:
    """Read a regular file of at most MOST_BYTES."""
    with open_regular(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > MOST_BYTES:
            raise ValueError(f"{file.name} has {size:,} bytes, more than {MOST_BYTES:,}")
        return stream.read(MOST_BYTES)


def read_json(file: Path) -> Any:
    """Read a file of JSON in UTF-8."""
    return parse_json(read_bytes(file).decode("utf-8"))


def parse_json(text: str) -> Any:
    """Parse JSON that is nested at most MOST_DEPTH deep."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if isinstance(value, dict | list) and text.count("[") + text.count("{") > MOST_DEPTH:
        _check_depth(value)
    return value


def byte_lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file without their line feeds, as a stream."""
    unpacked = 0
    with open_regular(file) as raw:
        most, least = _most_unpacked(file, raw), SHORT_LINE if _is_packed(file) else 0
        try:
            with _unpacked(file, raw) as stream:
                for line in iter(partial(stream.readline, MOST_LINE_BYTES + 1), b""):
                    if len(line) > MOST_LINE_BYTES:
                        raise ValueError(f"a line is longer than {MOST_LINE_BYTES:,} bytes")
                    unpacked += max(len(line), least)
                    if unpacked > most:
                        raise ValueError(_too_much(most))
                    yield line.removesuffix(b"\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(str(error)) from error


def read_unpacked(file: Path) -> bytes:
    """Read a plain or gzip file as a whole."""
    with open_regular(file) as raw:
        return unpack(file, raw)


def unpack(file: Path, raw: BinaryIO) -> bytes:
    """Read a plain or gzip file, which is open as `raw`, as a whole."""
    most = min(MOST_BYTES, _most_unpacked(file, raw))
    try:
        with _unpacked(file, raw) as stream:
            content = stream.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(str(error)) from error
    if len(content) > most:
        raise ValueError(_too_much(most))
    return content


def _unpacked(file: Path, raw: BinaryIO) -> BinaryIO:
    # The buffer of GzipFile itself is slow with short lines.
    return io.BufferedReader(gzip.GzipFile(fileobj=raw), BUFFER) if _is_packed(file) else raw


def _most_unpacked(file: Path, raw: BinaryIO) -> int:
    size = os.fstat(raw.fileno()).st_size
    return max(SMALL_BYTES, MOST_TIMES * size) if _is_packed(file) else max(SMALL_BYTES, size)


def _is_packed(file: Path) -> bool:
    return file.suffix in (".gz", ".dz")


def _too_much(most: int) -> str:
    return (
        f"its content has more than {most:,} bytes, the most that is read from a file of this kind and size"
    )


def _too_deep() -> str:
    return f"too many nested brackets, more than {MOST_DEPTH}"


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ValueError(_too_deep())
