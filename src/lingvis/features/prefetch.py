"""Read files on all cores, some batches ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from lingvis.hardware import core_count

BATCHES_AHEAD = 2

T = TypeVar("T")
R = TypeVar("R")


def prefetch(
    function: Callable[[T], R], values: Sequence[T], *, batch_size: int, threads: int | None = None
) -> Iterator[list[tuple[T, R]]]:
    """Yield batches of (value, function(value)) in order, computed by threads, by default one per core."""
    waiting: deque[list[tuple[T, Future[R]]]] = deque()
    pool = ThreadPoolExecutor(threads or core_count(), thread_name_prefix="decode")
    try:
        for start in range(0, len(values), batch_size):
            waiting.append(
                [(value, pool.submit(function, value)) for value in values[start : start + batch_size]]
            )
            if len(waiting) > BATCHES_AHEAD:
                yield [(value, future.result()) for value, future in waiting.popleft()]
        while waiting:
            yield [(value, future.result()) for value, future in waiting.popleft()]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a slow file must not delay Ctrl-C
