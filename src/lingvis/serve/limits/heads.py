"""Limits of the head of a request, checked before anything parses it.

Parsers of cookies, parameters, ranges and paths may take quadratic time, and they run on the event loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lingvis.serve.limits.refusals import Refusal

HEAD_BYTES = 256 * 1024  # all texts of a query, escaped
HEADERS_BYTES = 16 * 1024
HEADER_BYTES = 8 * 1024
HEADERS = 100
PATH_BYTES = 2048
PARAMETERS = 64

BLANK_LINE = re.compile(rb"\n\r?\n")
INVALID = Refusal(400, "this is not a valid HTTP request")
LONG_HEAD = Refusal(431, f"the request has more than {HEAD_BYTES} bytes before its body; shorten the query")
LONG_HEADERS = Refusal(
    431,
    f"the request has more than {HEADERS} headers or {HEADERS_BYTES} bytes of headers; send fewer, "
    "or delete the cookies of this address",
)
LONG_HEADER = Refusal(
    431,
    f"a header of the request has more than {HEADER_BYTES} bytes; shorten it, or delete the cookies of this address",
)
LONG_PATH = Refusal(414, f"the address has more than {PATH_BYTES} bytes before its parameters; shorten it")
MANY_PARAMETERS = Refusal(400, f"the address has more than {PARAMETERS} parameters; send fewer")


def refuse_address(path: bytes, query: bytes) -> Refusal | None:
    """Return a refusal if the raw path is too long, or the query has too many parameters."""
    if len(path) > PATH_BYTES:
        return LONG_PATH
    if query.count(b"&") >= PARAMETERS:
        return MANY_PARAMETERS
    return None


def refuse_headers(headers: Iterable[tuple[bytes, bytes]]) -> Refusal | None:
    """Return a refusal if a header, or all cookies together, are too long."""
    cookies = 0
    for name, value in headers:
        cookies += len(value) if name == b"cookie" else 0
        if len(value) > HEADER_BYTES or cookies > HEADER_BYTES:
            return LONG_HEADER
    return None


class HeadReader:
    """Collects the bytes of a head until it is complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._searched = self._lines = self._line_bytes = 0

    def read(self, data: bytes) -> tuple[bytes, bytes] | Refusal | None:
        """Return the head and the bytes after it, a refusal, or None while the head is incomplete."""
        self._bytes += data
        if self._bytes[0] <= 0x20:  # TLS, for instance: there may never be a blank line
            return INVALID
        blank = BLANK_LINE.search(self._bytes, self._searched)
        if blank is None:
            self._searched = max(0, len(self._bytes) - 2)
            self._lines += data.count(b"\n")
            if self._lines and not self._line_bytes:
                self._line_bytes = self._bytes.index(b"\n") + 1
            long = self._line_bytes and len(self._bytes) - self._line_bytes > HEADERS_BYTES
            if long or self._lines > HEADERS + 1:
                return LONG_HEADERS
            return LONG_HEAD if len(self._bytes) > HEAD_BYTES else None
        head, rest = bytes(self._bytes[: blank.end()]), bytes(self._bytes[blank.end() :])
        self._bytes.clear()
        self._searched = self._lines = self._line_bytes = 0
        return _refuse_head(head) or (head, rest)


def _refuse_head(head: bytes) -> Refusal | None:
    if len(head) > HEAD_BYTES:
        return LONG_HEAD
    line, _, headers = head.partition(b"\n")
    if len(headers) > HEADERS_BYTES or headers.count(b"\n") > HEADERS + 1:
        return LONG_HEADERS
    path, _, query = line.partition(b" ")[2].partition(b"?")
    return refuse_address(path.partition(b" ")[0], query)
