"""Errors of the engine as sentences: a full disk, files out of reach, or a damaged collection."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import pyarrow as pa

from lingvis.collection.stores.contract import FullDiskError
from lingvis.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
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
REASON = 160  # characters of the engine's message


class InFolder(Protocol):
    """A store in a folder."""

    folder: Path


P = ParamSpec("P")
S = TypeVar("S", bound=InFolder)
T = TypeVar("T")


@contextlib.contextmanager
def engine_errors(folder: Path) -> Iterator[None]:
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
        raise damaged(folder, error) from error


def full_disk(folder: Path) -> FullDiskError:
    """Return the error for a disk without space."""
    return FullDiskError(
        f"the disk of collection {folder} is full; free some space (stored pictures are safe)"
    )


def out_of_reach(folder: Path, number: int) -> UserError:
    """Return the error for files that the system does not let us use now."""
    return UserError(
        f"the files of collection {folder} cannot be used ({os.strerror(number)}); check who may read and write "
        "them, the disk and the limit on open files (ulimit -n), then try again"
    )


def damaged(folder: Path, error: BaseException) -> UserError:
    """Return the error for files that the engine cannot read."""
    # Without the place in the engine's source, which follows the reason.
    reason = re.split(r", [^ ]*\.rs:\d+", " ".join(str(error).split()))[0][:REASON]
    return UserError(
        f"collection {folder} is damaged ({reason}); restore the folder from a copy, or delete it and index the pictures "
        "again"
    )


def reported(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a method of a store in a folder."""

    @functools.wraps(method)
    def wrapped(self: S, /, *values: P.args, **options: P.kwargs) -> T:
        with engine_errors(self.folder):
            return method(self, *values, **options)

    return wrapped


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ in ("PanicException", "RustPanic")


def _is_of_engine(error: OSError) -> bool:
    """Return whether it is an error of the engine, which has no number, and not of a file that we opened."""
    return error.errno is None
