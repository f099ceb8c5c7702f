"""Sentences for a full disk, files out of reach, or a damaged collection."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from lingvis.collection.stores.contract import FullDiskError
from lingvis.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REASON = 160  # characters of the engine's message


class Reporting(Protocol):
    """A store that turns the errors of its engine into sentences."""

    def errors(self) -> AbstractContextManager[None]: ...


P = ParamSpec("P")
S = TypeVar("S", bound=Reporting)
T = TypeVar("T")


def reported(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a method of a store in a folder."""

    @functools.wraps(method)
    def wrapped(self: S, /, *values: P.args, **options: P.kwargs) -> T:
        with self.errors():
            return method(self, *values, **options)

    return wrapped


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


def damaged(folder: Path, reason: str) -> UserError:
    """Return the error for files that the engine cannot read."""
    return UserError(
        f"collection {folder} is damaged ({' '.join(reason.split())[:REASON]}); restore the folder from a copy, or "
        "delete it and index the pictures again"
    )
