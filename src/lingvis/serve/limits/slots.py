"""A limited number of concurrent requests; further requests get 429 with Retry-After."""

from __future__ import annotations

import threading

from starlette.exceptions import HTTPException

from lingvis.serve.limits.refusals import Refusal

BUSY = Refusal(429, "the server is busy; ask again in a second", {"Retry-After": "1"})


class Slots:
    """A thread-safe number of slots."""

    def __init__(self, count: int) -> None:
        self._free, self._lock = count, threading.Lock()

    def take(self) -> bool:
        """Take a slot if one is free; returns whether it was."""
        with self._lock:
            free = self._free > 0
            self._free -= free
        return free

    def release(self) -> None:
        """Release a slot that was taken."""
        with self._lock:
            self._free += 1

    def check(self) -> None:
        """Raise 429 if no slot is free."""
        if self._free < 1:
            raise busy()


def busy() -> HTTPException:
    """Return the answer 429."""
    return BUSY.exception()
