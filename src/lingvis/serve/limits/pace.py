"""New connections per second: those of one address are read one after the other, and a flood of them is turned away."""

from __future__ import annotations

from collections.abc import Container

RATE = 100.0  # connections of one peer that are read per second
AT_ONCE = 20  # connections that are read at once before the rate counts
LONGEST_WAIT = 4.0  # seconds; a connection that would wait longer is turned away
PEERS = 4096  # that are remembered


class ConnectionPace:
    """The moments at which the connections of each peer may be read.

    proxies: addresses that are exempt, since all clients of a proxy are one peer; "*" for all peers.
    """

    def __init__(self, proxies: Container[str]) -> None:
        self._proxies, self._unlimited = proxies, "*" in proxies
        self._next: dict[str, float] = {}

    def wait(self, peer: str, now: float) -> float | None:
        """Count a new connection; returns the seconds until it may be read, or None if it must be turned away.

        now: seconds of a steady clock.
        """
        if self._unlimited or peer in self._proxies:
            return 0.0
        moment = max(self._next.pop(peer, 0.0), now - AT_ONCE / RATE) + 1 / RATE
        wait = max(0.0, moment - now)
        self._next[peer] = moment if wait <= LONGEST_WAIT else moment - 1 / RATE
        if len(self._next) > PEERS:
            del self._next[next(iter(self._next))]  # the one that came least recently
        return wait if wait <= LONGEST_WAIT else None
