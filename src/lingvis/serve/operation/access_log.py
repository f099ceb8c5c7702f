"""The access log: one line per request, without its query, headers and body."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGGER = "lingvis.access"


class AccessLog:
    """Logs every answer; queries: also log the parameters of addresses, which are what people search for."""

    def __init__(self, app: ASGIApp, *, queries: bool) -> None:
        self._app, self._queries = app, queries
        self._log = logging.getLogger(LOGGER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, sent, start = 0, 0, time.perf_counter()

        async def watching(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watching)
        finally:
            fields = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": scope["client"][0] if scope.get("client") else "-",
                "method": scope["method"],
                "path": scope["path"],
                "status": status,  # 0: the client left before an answer
                "bytes": sent,
                "ms": round((time.perf_counter() - start) * 1000, 1),
            }
            if self._queries:
                fields["query"] = scope["query_string"].decode("latin-1")
            self._log.info("%s", AccessRecord(fields), extra={"fields": fields})


class AccessRecord:
    """The fields of a request as a line: time, client, method, path, status, bytes, milliseconds, query."""

    def __init__(self, fields: dict[str, object]) -> None:
        self._fields = fields

    def __str__(self) -> str:
        line = "{time} {client} {method} {path} {status} {bytes} B {ms} ms".format(**self._fields)
        return f"{line} ?{self._fields['query']}" if self._fields.get("query") else line
