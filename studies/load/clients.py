"""Clients without a pause, on one thread, with as little work as possible: they share the cores with the server."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from studies.search.model import PHRASES, sentences

THUMBNAILS = 4  # fetched after a search, as by a page that shows its first results
LONGEST_WAIT = 2.0  # most seconds that a client waits after 429
PATIENCE = 30.0  # seconds for the last answers
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RETRY = re.compile(rb"\r\nretry-after: *(\d+)", re.IGNORECASE)
ID, HASH = (re.compile(rb'"%s": ?"(\w+)"' % name) for name in (b"id", b"hash"))


@dataclass
class Answers:
    """Seconds by kind of the answers 200, and all answers by status."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def errors(self) -> dict[str, int]:
        """Answers that were neither results nor 429."""
        return {status: count for status, count in self.statuses.items() if status not in ("200", "429")}


class Client(asyncio.Protocol):
    """A connection: it searches and fetches thumbnails of the hits, again and again until the time is over."""

    def __init__(self, searches: Sequence[bytes], chance: random.Random, until: float, into: Answers) -> None:
        self.over = asyncio.get_running_loop().create_future()
        self._searches, self._random, self._until, self._into = searches, chance, until, into
        self._hits: list[str] = []
        self._kind, self._began, self._received = "", 0.0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Count an answer when it is complete, and ask again."""
        self._received += data
        head = self._received.find(HEAD_END)
        if head < 0:
            return
        length = LENGTH.search(self._received, 0, head)
        if length is None or len(self._received) < head + len(HEAD_END) + int(length[1]):
            return
        answer, self._received = self._received, b""
        status = answer[9:12].decode()
        self._into.statuses[status] += 1
        pause = 0.0
        if status == "200":
            self._into.seconds[self._kind].append(time.perf_counter() - self._began)
            if self._kind == "search":
                ids, hashes = (each.finditer(answer, head) for each in (ID, HASH))
                self._hits = [
                    f"/api/items/{id[1].decode()}/thumbnail?v={hash[1].decode()}"
                    for id, hash, _ in zip(ids, hashes, range(THUMBNAILS), strict=False)
                ]
        elif status == "429":
            wanted = RETRY.search(answer, 0, head)
            pause = min(float(wanted[1]) if wanted else 1.0, LONGEST_WAIT)
        if pause:
            asyncio.get_running_loop().call_later(pause, self._ask)
        else:
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count an end that was not ours; no server may close a connection that is in use."""
        if not self.over.done():
            self._into.statuses["connection lost"] += 1
            self.over.set_result(None)

    def _ask(self) -> None:
        if time.monotonic() >= self._until or self.over.done():
            self._end()
            return
        if self._hits:
            self._kind, request = "thumbnail", _request(self._hits.pop())
        else:
            self._kind, request = "search", self._random.choice(self._searches)
        self._began = time.perf_counter()
        self._transport.write(request)

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
        self._transport.close()


async def ask(port: int, clients: int, seconds: float) -> tuple[Answers, float]:
    """The answers to these clients in this time, and the seconds that it took."""
    loop, answers = asyncio.get_running_loop(), Answers()
    queries = sentences(list(PHRASES), 10_000)
    searches = [_request(f"/api/search?{urlencode({'q': query, 'k': 20})}") for query in queries]
    began = time.monotonic()
    everyone = []
    for number in range(clients):
        client = Client(searches, random.Random(number), began + seconds, answers)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
        everyone.append(client.over)
    _, late = await asyncio.wait(everyone, timeout=seconds + PATIENCE)
    if late:
        answers.statuses["no answer"] += len(late)
    return answers, time.monotonic() - began


def _request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
