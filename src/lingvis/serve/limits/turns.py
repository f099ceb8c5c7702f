"""Turns for costly work: clients that wait are served by turns, however many requests one of them has sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from lingvis.serve.limits.clients import client_of
from lingvis.serve.limits.workers import too_late


class ClientTurns:
    """`count` turns at once; for use on the event loop only.

    A turn that ends goes to the waiting client with the fewest turns; among equals, those that had one go last.
    seconds: the longest wait.
    """

    def __init__(self, count: int, *, seconds: float) -> None:
        self._free, self._seconds = count, seconds
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def held(self, request: Request) -> AsyncIterator[None]:
        """Hold a turn of the client of a request during the block; raises 503 if the wait is too long."""
        client = client_of(request.scope)
        if self._free:
            self._free -= 1
            self._held[client] += 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._held[client] -= 1
            self._held += Counter()  # without clients that hold none
            self._pass_on(client)

    async def _wait(self, client: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((client, turn))
        done, _ = await asyncio.wait([turn], timeout=self._seconds)
        if not done:
            self._waiting.remove((client, turn))
            raise too_late(self._seconds)

    def _pass_on(self, last: str) -> None:
        if not self._waiting:
            self._free += 1
            return
        self._waiting.sort(key=lambda entry: entry[0] == last)
        client, turn = min(self._waiting, key=lambda entry: self._held[entry[0]])
        self._waiting.remove((client, turn))
        self._held[client] += 1
        turn.set_result(None)
