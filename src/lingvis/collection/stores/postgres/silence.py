"""Connections that give up when the server is silent for too long: it may hang while the network still works."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg

SECONDS_FOR_SETTINGS = 10.0  # until a connection has its own limit


class SilentServerError(psycopg.OperationalError):
    """The server has not answered in time; the connection is closed."""


class LimitedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection of psycopg; seconds: of silence after which a statement fails, None for no limit."""

    seconds: float | None = SECONDS_FOR_SETTINGS

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Run a generator of psycopg, which all communication with the server goes through."""
        if self.seconds is None:
            return super().wait(gen, *arguments, **options)
        return super().wait(self._limited(gen, self.seconds), *arguments, **options)

    def _limited(self, gen: Any, seconds: float) -> Generator[Any, Any, Any]:
        """Pass everything on; psycopg sends 0 every tenth of a second while nothing arrives."""
        try:
            state = next(gen)
            last = time.monotonic()
            while True:
                ready = yield state
                if ready:
                    last = time.monotonic()
                elif time.monotonic() - last > seconds:
                    self.close()
                    raise SilentServerError(f"no answer within {seconds:.0f} seconds")
                state = gen.send(ready)
        except StopIteration as end:
            return end.value
