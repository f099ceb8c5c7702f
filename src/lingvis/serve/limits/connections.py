"""The open connections of a server, and which of them make room for others."""

from __future__ import annotations

from typing import Protocol

from lingvis.serve.limits.clients import share_of

PARSED_BYTES = 16 * 1024  # read at once of what has to be parsed: others wait meanwhile
COPIED_BYTES = 256 * 1024  # of a body that is only copied
SURPLUS = "surplus"  # rejected connections that are being closed count as those of one peer


class Connection(Protocol):
    """A connection that can be closed at once; served: whether it has had an answer."""

    served: bool

    def drop(self) -> None:
        """Close the connection, without an answer."""


class Connections:
    """At most `count` connections, of which one peer may have a share.

    Beyond that, a connection that waits for a request is closed in favour of a new one, so that idle connections lock
    nobody out: first those that have never sent a request, the oldest of them. A new connection is rejected only if
    all others are being answered.

    short, long: buffers for the bytes that arrive, shared by all connections, which copy them at once.
    """

    def __init__(self, count: int) -> None:
        self._count, self._share = count, share_of(count)
        self.long = memoryview(bytearray(COPIED_BYTES))
        self.short = self.long[:PARSED_BYTES]
        self._surplus = max(1, count // 16)
        self._peers: dict[str, dict[Connection, None]] = {}
        self._waiting: dict[str, dict[Connection, None]] = {}

    def add(self, connection: Connection, peer: str) -> bool:
        """Add a connection, which waits for its first request; returns False if there is no room for it."""
        room = len(self._of(peer)) < self._share or self._drop_waiting(peer)
        if room and sum(map(len, self._peers.values())) >= self._count:
            room = self._drop_waiting(
                max(self._waiting, key=lambda name: len(self._waiting[name]), default=peer)
            )
        if not room:
            if len(self._of(SURPLUS)) >= self._surplus:
                self._drop_waiting(SURPLUS)
            peer = SURPLUS
        self._peers.setdefault(peer, {})[connection] = None
        self._waiting.setdefault(peer, {})[connection] = None
        return room

    def remove(self, connection: Connection, peer: str) -> None:
        """Remove a connection that was closed."""
        for name in (peer, SURPLUS):
            for books in (self._peers, self._waiting):
                if name in books:
                    books[name].pop(connection, None)
                    if not books[name]:
                        del books[name]

    def wait(self, connection: Connection, peer: str) -> None:
        """Mark a connection as waiting for a request."""
        if connection in self._of(peer):
            self._waiting.setdefault(peer, {})[connection] = None

    def work(self, connection: Connection, peer: str) -> None:
        """Mark a connection as being answered."""
        waiting = self._waiting.get(peer, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(peer, None)

    def _of(self, peer: str) -> dict[Connection, None]:
        return self._peers.get(peer, {})

    def _drop_waiting(self, peer: str) -> bool:
        """Drop a connection of a peer that waits for a request; returns whether there was one."""
        waiting = list(self._waiting.get(peer, ()))
        if not waiting:
            return False
        connection = min(waiting, key=lambda each: each.served)
        self.remove(connection, peer)
        connection.drop()
        return True
