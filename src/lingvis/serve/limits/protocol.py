"""HTTP connections with limits for slow clients, which uvicorn's protocol lacks."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from lingvis.serve.limits.gate import CROWDED
from lingvis.serve.limits.headers import SECURITY

CONNECTIONS = 500
HEAD_SECONDS = 10.0  # for the head of a request, from the connection or the last answer
READ_SECONDS = 60.0  # without the client reading any of an answer
HEAD_BYTES = 256 * 1024  # all texts of a query, escaped


class LimitedProtocol(H11Protocol):
    """Disconnects clients that send no request or read no answer, marks connections beyond the limit, and answers
    invalid HTTP in JSON."""

    _head: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The gate rejects its request in JSON; uvicorn's limit would answer in plain text.
        if len(self.connections) > CONNECTIONS:
            self.app_state = {**self.app_state, CROWDED: True}
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head)
        _cancel(self._reading)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel(self._head)

    def on_response_complete(self) -> None:
        self._expect_head()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading)

    def send_400_response(self, msg: str) -> None:
        error: Any = sys.exc_info()[1]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            too_long = getattr(error, "error_status_hint", 400) == 431
            status = 431 if too_long else 400
            sentence = (
                f"the request has more than {HEAD_BYTES} bytes before its body; shorten the query"
                if too_long
                else "this is not a valid HTTP request"
            )
            body = json.dumps({"error": sentence}).encode()
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **SECURITY}
            start = h11.Response(status_code=status, headers=[*headers.items(), ("Connection", "close")])
            for event in (start, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_head(self) -> None:
        _cancel(self._head)
        self._head = self.loop.call_later(HEAD_SECONDS, self.transport.close)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
