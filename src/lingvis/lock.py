"""A lock that excludes other processes and ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from lingvis.errors import UserError


@contextlib.contextmanager
def exclusive(file: Path, busy: str, *, remove: bool = False) -> Iterator[None]:
    """Hold the lock of `file`, which is made if necessary; raises UserError(`busy`) if another process holds it.

    remove: delete the file at the end; otherwise it stays, unlocked.
    """
    handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(busy) from error
        if not _is_at(
            handle, file
        ):  # its last holder has just removed it, and perhaps somebody has the next one
            raise UserError(busy)
        try:
            yield
        finally:
            if remove:
                file.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _is_at(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def one_writer(target: Path) -> AbstractContextManager[None]:
    """Hold the lock of a folder that is to be written as a whole, by a file beside it that is removed at the end."""
    target.parent.mkdir(parents=True, exist_ok=True)
    busy = f"another process is writing {target}; wait until it has finished, or choose another folder"
    return exclusive(target.parent / f".{target.name}.lock", busy, remove=True)
