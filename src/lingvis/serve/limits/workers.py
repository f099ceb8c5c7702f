"""Threads for what would hold up the event loop, with a short queue before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from starlette.exceptions import HTTPException

from lingvis.serve.limits.places import Places, busy

T = TypeVar("T")


class Workers:
    """Runs `threads` functions at once and lets `waiting` more wait; what is still not done in time is given up."""

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._places, self._seconds = Places(threads + waiting), seconds

    def check(self) -> None:
        """Refuse now what could not be run anyway."""
        self._places.check()

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result; 429 when too many wait, 503 when it takes too long."""
        if not self._places.take():
            raise busy()
        future = self._pool.submit(function)
        # The place is free when the thread is: a function that was given up still runs to its end.
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError as error:
            raise HTTPException(
                503,
                f"no answer was found within {self._seconds:g} seconds; ask again later",
                headers={"Retry-After": "5"},
            ) from error

    def close(self) -> None:
        """Drop what waits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _: Future[T]) -> None:
        self._places.leave()
