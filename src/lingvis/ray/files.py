"""Batches of picture files as tasks; a file that only the worker cannot read raises at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, tee
from typing import Any, Generic, TypeVar

from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture
from lingvis.ray.pool import FatalTaskError, WorkerPool

F = TypeVar("F")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class WorkerReply(Generic[R]):
    """The outcomes of the files of a batch, and the files that the worker's machine could not read."""

    results: list[R]
    host: str
    unreadable: list[str]


def reply(paths: Sequence[str], results: list[R]) -> WorkerReply[R]:
    """Return the reply of a worker to a batch."""
    broken = [path for path, result in zip(paths, results, strict=True) if isinstance(result, BrokenPicture)]
    return WorkerReply(
        results, socket.gethostname(), [path for path in broken if not os.access(path, os.R_OK)]
    )


def each_batch(
    pool: WorkerPool[list[F]], files: Iterable[F], *common: Any, batch_size: int, path: Callable[[F], str]
) -> Iterator[tuple[list[F], list[Any]]]:
    """Yield files and their outcomes, batch by batch in order."""
    rest = iter(files)
    tasks, batches = tee(iter(lambda: list(islice(rest, batch_size)), []))  # tasks are some batches ahead
    try:
        for reply, batch in zip(pool.map(tasks, *common), batches, strict=True):
            for path_there in reply.unreadable:
                if os.access(path_there, os.R_OK):
                    raise UserError(
                        f"picture {path_there} cannot be read on {reply.host}; every machine of a Ray cluster needs the "
                        "pictures at the same path, so share the folder among them (NFS, for instance)"
                    )
            yield batch, reply.results
    except FatalTaskError as fatal:
        raise UserError(
            f"Ray's workers died repeatedly at the {len(fatal.task)} pictures from {path(fatal.task[0])} to "
            f"{path(fatal.task[-1])}; check the memory, or move these pictures elsewhere (finished work is kept)"
        ) from fatal
