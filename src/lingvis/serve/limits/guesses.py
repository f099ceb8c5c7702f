"""Wrong tokens are slowed down: a client that sends several has to wait, each time twice as long."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass

from lingvis.serve.limits.clients import ClientSlots
from lingvis.serve.limits.refusals import Refusal
from lingvis.serve.workers.state import SharedState

FREE = 5  # wrong tokens of a client before it has to wait
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds
FORGOTTEN = 900.0  # seconds after the last wrong token
CLIENTS = 10_000  # beyond this number the oldest are forgotten
TOTAL, WINDOW = 100, 60.0  # wrong tokens of all clients in this time, before each answer is late
WRONG_TOKENS = "wrong tokens"  # the row of that window
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

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._late = ClientSlots(LATE_ANSWERS)

    def judge(self, client: str, *, right: bool) -> Refusal | None:
        """Return a refusal of a token, or None for the right one of a client that need not wait.

        A client that has sent the right token before need not wait: others may share its address.
        """
        now = time.monotonic()
        record = self._record(client, now)
        waits = now < record.until
        if right and (not waits or self._is_trusted(client)):
            self._trust(client)
            return None
        if not waits:
            self._count(client, now)
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
        window = self._state.ask("SELECT start, total FROM windows WHERE name = ?", WRONG_TOKENS)
        many = bool(window) and now - window[0][0] < WINDOW and window[0][1] > TOTAL
        if (many or now < self._record(client, now).until) and self._late.take(client):
            try:
                await asyncio.sleep(LATE)
            finally:
                self._late.release(client)

    def _record(self, client: str, now: float) -> _Record:
        rows = self._state.ask("SELECT count, last, until FROM wrong WHERE client = ?", client)
        return _Record(*rows[0]) if rows and now - rows[0][1] < FORGOTTEN else _Record()

    def _is_trusted(self, client: str) -> bool:
        return bool(self._state.ask("SELECT 1 FROM trusted WHERE client = ?", client))

    def _trust(self, client: str) -> None:
        if not self._is_trusted(client):
            self._state.ask("INSERT OR IGNORE INTO trusted VALUES (?)", client)
            self._state.keep("trusted", CLIENTS)

    def _count(self, client: str, now: float) -> None:
        with self._state.changing():
            record = self._record(client, now)  # again: another process may have counted meanwhile
            wrong, until = record.wrong + 1, record.until
            if wrong >= FREE:
                until = now + min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(wrong - FREE, 10))
            self._state.ask("INSERT OR REPLACE INTO wrong VALUES (?, ?, ?, ?)", client, wrong, now, until)
            if not record.wrong:
                self._state.keep("wrong", CLIENTS)
            self._state.ask(
                "INSERT INTO windows VALUES (?1, ?2, 1) ON CONFLICT (name) DO UPDATE SET "
                "total = iif(?2 - start > ?3, 1, total + 1), start = iif(?2 - start > ?3, ?2, start)",
                WRONG_TOKENS,
                now,
                WINDOW,
            )
