"""New connections per second: a flood from one address is turned away before it costs anything."""

from __future__ import annotations

from collections.abc import Container

RATE = 100.0  # connections per second of one peer, in the long run
BURST = 400  # before its rate counts
PEERS = 4096  # that are remembered


class ConnectionPace:
    """Counts the new connections of each peer; proxies are exempt, since all their clients are one peer.

    proxies: their addresses, or "*" for all peers.
    """

    def __init__(self, proxies: Container[str]) -> None:
        self._proxies, self._unlimited = proxies, "*" in proxies
        self._left: dict[str, tuple[float, float]] = {}  # connections that a peer may still make, and when

    def allows(self, peer: str, now: float) -> bool:
        """Count a connection and return whether the peer may have it; now: seconds of a steady clock."""
        if self._unlimited or peer in self._proxies:
            return True
        left, then = self._left.pop(peer, (float(BURST), now))
        left = min(float(BURST), left + RATE * (now - then))
        allowed = left >= 1
        self._left[peer] = (left - allowed, now)
        if len(self._left) > PEERS:
            del self._left[next(iter(self._left))]  # the one that came least recently
        return allowed
