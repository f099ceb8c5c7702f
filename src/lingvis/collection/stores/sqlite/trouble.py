"""Errors of SQLite as sentences."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lingvis.collection.stores.folder.header import FILE
from lingvis.collection.stores.folder.trouble import FULL, damaged, full_disk, out_of_reach
from lingvis.errors import UserError

# The files may be fine: the system does not let us use them now. None: see `_number`.
OUT_OF_REACH = {
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: None,
}
LITTLE = 1 << 16  # bytes, less than SQLite needs beside the database


@contextlib.contextmanager
def sqlite_errors(folder: Path) -> Iterator[None]:
    """Report errors of SQLite about its files, and values that we never store."""
    try:
        yield
    except sqlite3.Error as error:
        raise _sentence(folder, error) from error
    except (ValueError, OverflowError) as error:
        raise damaged(folder, str(error)) from error
    except OSError as error:
        if error.errno in FULL:
            raise full_disk(folder) from error
        raise


def primary_code(error: sqlite3.Error) -> int | None:
    """Return the kind of an error; None if it is not of SQLite but of the module."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _sentence(folder: Path, error: sqlite3.Error) -> UserError:
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return full_disk(folder)
    cut_off = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHORT_READ
    if code not in OUT_OF_REACH or cut_off:
        return damaged(folder, str(error))
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(folder):
        return full_disk(folder)
    return out_of_reach(folder, OUT_OF_REACH[code] or _number(folder))


def _is_full(folder: Path) -> bool:
    try:
        space = os.statvfs(folder)
    except OSError:
        return False
    return space.f_bavail * space.f_frsize < LITTLE


def _number(folder: Path) -> int:
    """Return why no file can be opened; by another file, because closing the database would release SQLite's locks."""
    try:
        os.close(os.open(folder / FILE, os.O_RDONLY))
    except OSError as error:
        return error.errno or errno.EIO
    return errno.EACCES
