"""Errors of LanceDB as sentences."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lingvis.collection.stores.folder.trouble import FULL, damaged, full_disk, out_of_reach
from lingvis.errors import UserError

# The files may be fine: others may not read them, too many files are open, or a disk on the network is away.
OUT_OF_REACH = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EIO,
)
NUMBER = re.compile(r"\(os error (\d+)\)")
PLACE = re.compile(r", [^ ]*\.rs:\d+")  # in the engine's source, which follows the reason


@contextlib.contextmanager
def lance_errors(folder: Path) -> Iterator[None]:
    """Report errors of the engine about its files; a panic of it is no Exception, but ends only the call."""
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        if isinstance(error, OSError) and not _is_of_engine(error):
            if error.errno in FULL:
                raise full_disk(folder) from error
            raise
        if not isinstance(error, OSError | RuntimeError | ValueError | pa.ArrowException) and not _is_panic(
            error
        ):
            raise
        number = int(match[1]) if (match := NUMBER.search(str(error))) else None
        if number in FULL:
            raise full_disk(folder) from error
        if number in OUT_OF_REACH:
            raise out_of_reach(folder, number) from error
        raise damaged(folder, PLACE.split(" ".join(str(error).split()))[0]) from error


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ in ("PanicException", "RustPanic")


def _is_of_engine(error: OSError) -> bool:
    """Return whether it is an error of the engine, which has no number, and not of a file that we opened."""
    return error.errno is None
