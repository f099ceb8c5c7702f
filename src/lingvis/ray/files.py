"""Batches of picture files as tasks: what a machine cannot read although we can is said at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lingvis.errors import UserError
from lingvis.features.pictures import BrokenPicture
from lingvis.ray.pool import Poison, Pool

F = TypeVar("F")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Answer(Generic[R]):
    """What became of the files of a batch, and which of them the machine could not read at all."""

    results: list[R]
    host: str
    unreadable: list[str]


def answer(paths: Sequence[str], results: list[R]) -> Answer[R]:
    """Made by a worker."""
    broken = [path for path, result in zip(paths, results, strict=True) if isinstance(result, BrokenPicture)]
    return Answer(results, socket.gethostname(), [path for path in broken if not os.access(path, os.R_OK)])


def each_batch(
    pool: Pool[list[F]], files: Sequence[F], *common: Any, batch_size: int, path: Callable[[F], str]
) -> Iterator[tuple[list[F], list[Any]]]:
    """Files and what the workers made of them, batch by batch in order."""
    batches = [list(files[start : start + batch_size]) for start in range(0, len(files), batch_size)]
    try:
        for batch, made in zip(batches, pool.map(batches, *common), strict=True):
            for lost in made.unreadable:
                if os.access(lost, os.R_OK):
                    raise UserError(
                        f"picture {lost} cannot be read on {made.host}; every machine of a Ray cluster needs the "
                        "pictures at the same path, so share the folder among them (NFS, for instance)"
                    )
            yield batch, made.results
    except Poison as poison:
        raise UserError(
            f"Ray's workers died again and again at the {len(poison.task)} pictures from {path(poison.task[0])} to "
            f"{path(poison.task[-1])}; look whether memory is short, or move them away (work so far is kept)"
        ) from poison
