"""Read files on all cores, some batches ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from lingvis.hardware import core_count

BATCHES_AHEAD = 2

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    function: Callable[[T], R], values: Iterable[T], *, batch_size: int, threads: int | None = None
) -> Iterator[list[tuple[T, R]]]:
    """Yield batches of (value, function(value)) in order, computed by threads, by default one per core."""

    def each(group: Sequence[T]) -> list[tuple[T, R]]:
        return [(value, function(value)) for value in group]

    return prefetch_groups(each, values, batch_size=batch_size, threads=threads)


def prefetch_groups(
    function: Callable[[Sequence[T]], Sequence[R]],
    values: Iterable[T],
    *,
    batch_size: int,
    threads: int | None = None,
    group: int = 1,
    soon: Callable[[T], None] | None = None,
) -> Iterator[list[R]]:
    """Yield the results of batches in order; `function` gets up to `group` values of a batch at a time.

    soon: nothing is computed ahead, but this is called with the values of the next batch while one is used.
    """
    waiting: deque[list[Future[Sequence[R]]]] = deque()
    rest = iter(values)
    pool = ThreadPoolExecutor(threads or core_count(), thread_name_prefix="decode")
    try:
        batch = list(islice(rest, batch_size))
        while batch:
            waiting.append(
                [pool.submit(function, batch[at : at + group]) for at in range(0, len(batch), group)]
            )
            batch = list(islice(rest, batch_size))
            if soon is not None:
                results = _results(waiting.popleft())
                for value in batch:
                    pool.submit(soon, value)
                yield results
            elif len(waiting) > BATCHES_AHEAD:
                yield _results(waiting.popleft())
        while waiting:
            yield _results(waiting.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a slow file must not delay Ctrl-C


def _results(batch: Sequence[Future[Sequence[R]]]) -> list[R]:
    return list(chain.from_iterable(future.result() for future in batch))
