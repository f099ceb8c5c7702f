"""So many at once: who comes when all places are taken is refused, and told when to ask again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException

BUSY = "the server is busy; ask again in a second"
LATER = {"Retry-After": "1"}


class Places:
    """A number of places, for any thread."""

    def __init__(self, count: int) -> None:
        self._free, self._lock = count, threading.Lock()

    def take(self) -> bool:
        """Take a place, if one is free."""
        with self._lock:
            free = self._free > 0
            self._free -= free
        return free

    def leave(self) -> None:
        """Give the place to others."""
        with self._lock:
            self._free += 1

    def check(self) -> None:
        """Refuse now what would find no place anyway."""
        if self._free < 1:
            raise busy()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A place for as long as the block takes; 429 where none is free."""
        if not self.take():
            raise busy()
        try:
            yield
        finally:
            self.leave()


def busy() -> HTTPException:
    """The refusal of an endpoint."""
    return HTTPException(429, BUSY, headers=LATER)
