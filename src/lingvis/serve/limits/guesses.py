"""Wrong tokens are slowed down: a client that sends several has to wait, each time twice as long."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

from lingvis.serve.limits.clients import ClientSlots
from lingvis.serve.limits.refusals import Refusal

T = TypeVar("T")
FREE = 5  # wrong tokens of a client before it has to wait
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds
FORGOTTEN = 900.0  # seconds after the last wrong token
CLIENTS = 10_000  # beyond this number the oldest are forgotten
TOTAL, WINDOW = 100, 60.0  # wrong tokens of all clients in this time, before each answer is late
LATE, LATE_ANSWERS = 1.0, 128  # seconds; answers that are held back at once
WRONG = Refusal(
    401,
    "this is not the token of this server; look it up where the server was started",
    {"WWW-Authenticate": "Bearer"},
)


@dataclass(slots=True)
class _Record:
    wrong: int = 0
    last: float = 0.0
    until: float = 0.0


class Guesses:
    """The wrong tokens of each client, and which clients have sent the right one."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, _Record] = OrderedDict()
        self._trusted: OrderedDict[str, None] = OrderedDict()
        self._window, self._total = 0.0, 0
        self._late = ClientSlots(LATE_ANSWERS)

    def judge(self, client: str, *, right: bool) -> Refusal | None:
        """Return a refusal of a token, or None for the right one of a client that need not wait.

        A client that has sent the right token before need not wait: others may share its address.
        """
        now = time.monotonic()
        record = self._record(client, now)
        waits = now < record.until
        if right and (not waits or client in self._trusted):
            _keep(self._trusted, client, None)
            return None
        if not waits:
            self._count(client, record, now)
            return WRONG
        seconds = math.ceil(record.until - now)
        return Refusal(
            429,
            f"too many wrong tokens came from this address; try again in {seconds} seconds",
            {"Retry-After": str(seconds)},
        )

    async def hold_back(self, client: str) -> None:
        """Wait before a wrong token is answered, if this client or all together have sent too many."""
        now = time.monotonic()
        many = now - self._window < WINDOW and self._total > TOTAL
        if (many or now < self._record(client, now).until) and self._late.take(client):
            try:
                await asyncio.sleep(LATE)
            finally:
                self._late.release(client)

    def _record(self, client: str, now: float) -> _Record:
        record = self._clients.get(client)
        return record if record is not None and now - record.last < FORGOTTEN else _Record()

    def _count(self, client: str, record: _Record, now: float) -> None:
        record.wrong += 1
        record.last = now
        if record.wrong >= FREE:
            record.until = now + min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(record.wrong - FREE, 10))
        _keep(self._clients, client, record)
        if now - self._window > WINDOW:
            self._window, self._total = now, 0
        self._total += 1


def _keep(clients: OrderedDict[str, T], client: str, value: T) -> None:
    clients[client] = value
    clients.move_to_end(client)
    if len(clients) > CLIENTS:
        clients.popitem(last=False)
