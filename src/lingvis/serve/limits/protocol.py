"""HTTP connections with limits for slow clients and large heads, which uvicorn's protocol lacks."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from lingvis.serve.limits.clients import network_of
from lingvis.serve.limits.connections import Connections
from lingvis.serve.limits.headers import SECURITY
from lingvis.serve.limits.heads import INVALID, LONG_HEAD, HeadReader
from lingvis.serve.limits.pace import ConnectionPace
from lingvis.serve.limits.refusals import Refusal
from lingvis.serve.limits.slots import BUSY

HEAD_SECONDS = 10.0  # for the head of a request, from the connection or the last answer
READ_SECONDS = 60.0  # without the client reading any of an answer
LINGER_SECONDS = (
    2.0  # for a client to read a refusal while it still sends; closing at once could destroy the answer
)
BODY_SECONDS, BODY_BYTES = 10.0, 10 * 1024  # a body brings at least as many bytes in this time
CHUNK_BYTES = 1024  # of the lines around the chunks of a body, beyond an eighth of the body
SLOW = Refusal(
    408, f"the request was sent too slowly; send at least {BODY_BYTES / BODY_SECONDS:g} bytes per second"
)
SMALL_CHUNKS = Refusal(400, "the chunks of the request are too small; send chunks of at least 64 bytes")


class LimitedProtocol(H11Protocol, asyncio.BufferedProtocol):
    """Answers invalid HTTP and large heads in JSON, and disconnects clients that send or read too slowly.

    A request that comes before the last one was answered is dropped with the connection (no pipelining), and a body
    that nobody reads ends the connection.
    """

    def __init__(self, *args: Any, crowd: Connections, pace: ConnectionPace, **options: Any) -> None:
        super().__init__(*args, **options)
        self._crowd, self._pace, self._peer = crowd, pace, ""
        self._turned_away = False
        self.served = False
        self._head = HeadReader()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._lingering = self._chunked = False
        self._body_bytes = self._line_bytes = self._recent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        address = transport.get_extra_info("peername")
        self._peer = network_of(address[0] if address else "")
        wait = self._pace.wait(self._peer, self.loop.time())
        if wait is None:
            self._turned_away = True
            transport.abort()
            return
        super().connection_made(transport)
        if wait:
            transport.pause_reading()
            self._start("pace", wait, self._begin_reading)
        if self._crowd.add(self, self._peer):
            self._expect_head()
        else:
            self._refuse(BUSY)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._turned_away:
            return
        for name in list(self._timers):
            self._stop(name)
        self._crowd.remove(self, self._peer)
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return a buffer that is short if its content is parsed, so that no connection holds up the others."""
        copied = self.conn.their_state is h11.SEND_BODY and not self._chunked
        return self._crowd.long if copied or self._lingering else self._crowd.short

    def buffer_updated(self, nbytes: int) -> None:
        if not self._lingering:
            self.data_received(bytes(self._crowd.long[:nbytes]))

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE:
            data = self._receive_head(data)
        if self.conn.their_state is h11.SEND_BODY:
            self._receive_body(data)
        elif data and self.cycle is not None:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        self.served = True
        self._stop("body")
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            self.server_state.total_requests += 1
            self._linger()
            return
        self._expect_head()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("read", READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("read")

    def send_400_response(self, msg: str) -> None:
        long = getattr(sys.exc_info()[1], "error_status_hint", 400) == 431
        self._refuse(LONG_HEAD if long else INVALID)

    def _receive_head(self, data: bytes) -> bytes:
        """Parse a head as soon as it is complete; returns the bytes after it."""
        self._unset_keepalive_if_required()
        head = self._head.read(data)
        if isinstance(head, Refusal):
            self._refuse(head)
        elif head is not None:
            self._stop("head")
            self._crowd.work(self, self._peer)
            self._body_bytes = self._line_bytes = self._recent_bytes = 0
            super().data_received(head[0])
            self._chunked = any(name == b"transfer-encoding" for name, _ in self.headers or ())
            return head[1]
        return b""

    def _receive_body(self, data: bytes) -> None:
        if "body" not in self._timers:
            self._start("body", BODY_SECONDS, self._check_speed)
        self._recent_bytes += len(data)
        # Parsing chunks is slow: stop soon if they are small.
        step = CHUNK_BYTES if self._chunked else max(1, len(data))
        for start in range(0, len(data), step):
            part = data[start : start + step]
            before = len(self.cycle.body)
            super().data_received(part)
            content = len(self.cycle.body) - before
            self._body_bytes += content
            self._line_bytes += len(part) - content
            if self._line_bytes > CHUNK_BYTES + self._body_bytes // 8:
                self._refuse(SMALL_CHUNKS)
            if self._lingering or self.transport.is_closing():
                return
        if self.conn.their_state is not h11.SEND_BODY:
            self._stop("body")
            if self.conn.trailing_data[0]:
                self.cycle.keep_alive = False

    def _check_speed(self) -> None:
        self._stop("body")
        if self._recent_bytes < BODY_BYTES and not self.flow.read_paused:
            self._refuse(SLOW)
        else:
            self._recent_bytes = 0
            self._start("body", BODY_SECONDS, self._check_speed)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without the application, and close the connection."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        body = json.dumps({"error": refusal.sentence}).encode()
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            **SECURITY,
            **refusal.headers,
            "Connection": "close",
        }
        start = h11.Response(status_code=refusal.status, headers=list(headers.items()))
        for event in (start, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._linger()

    def _linger(self) -> None:
        """End the sending side, and drop what still arrives until the client closes or the time is over."""
        self._lingering, self.served = True, False  # the first to make room for others
        self._stop("body")
        self._crowd.wait(self, self._peer)
        self.flow.resume_reading()
        self._start("head", LINGER_SECONDS, self.transport.abort)
        with suppress(OSError):  # the client may have left
            self.transport.write_eof()

    def _begin_reading(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def _expect_head(self) -> None:
        self._crowd.wait(self, self._peer)
        self._start("head", HEAD_SECONDS, self.transport.close)

    def _start(self, name: str, seconds: float, action: Any) -> None:
        self._stop(name)
        self._timers[name] = self.loop.call_later(seconds, action)

    def _stop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
