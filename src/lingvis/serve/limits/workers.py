"""Threads for work that would block the event loop, with a short queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from starlette.exceptions import HTTPException

from lingvis.serve.limits.slots import Slots, busy

T = TypeVar("T")


class WorkerThreads:
    """Runs `threads` functions at once and queues up to `waiting` more; slow functions are abandoned.

    observe: called with the seconds that a function took, without its time in the queue.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        waiting: int,
        seconds: float,
        observe: Callable[[float], None] | None = None,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._slots, self._seconds = Slots(threads + waiting), seconds
        self._observe = observe

    def check(self) -> None:
        """Raise 429 if nothing more can be queued."""
        self._slots.check()

    async def run(self, function: Callable[..., T], *args: object) -> T:
        """Return function(*args); 429 if too many wait, 503 if it takes too long."""
        return (await self.run_timed(function, *args))[1]

    async def run_timed(self, function: Callable[..., T], *args: object) -> tuple[float, T]:
        """Like `run`, with the seconds that the function took."""
        if not self._slots.take():
            raise busy()
        future = self._pool.submit(self._timed, function, *args)
        # The slot is released with the thread: an abandoned function still runs to its end.
        future.add_done_callback(self._release)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError as error:
            raise too_late(self._seconds) from error

    def close(self) -> None:
        """Drop queued functions."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _timed(self, function: Callable[..., T], *args: object) -> tuple[float, T]:
        start = time.perf_counter()
        result = function(*args)
        seconds = time.perf_counter() - start
        if self._observe is not None:
            self._observe(seconds)
        return seconds, result

    def _release(self, _: Future[tuple[float, T]]) -> None:
        self._slots.release()


def too_late(seconds: float) -> HTTPException:
    """Return the answer 503 after a number of seconds."""
    sentence = f"there was no answer within {seconds:g} seconds; ask again later"
    return HTTPException(503, sentence, headers={"Retry-After": "5"})
