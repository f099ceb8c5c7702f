"""Clients by their address: each may use a share of the server, so that none takes all of it."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from starlette.requests import Request
from starlette.types import Scope

from lingvis.serve.limits.slots import busy

SHARES = 4  # one client may use a quarter
ADDRESS_CHARACTERS = 64


def client_of(scope: Scope) -> str:
    """Return the client of a request: the peer, or behind a proxy on this machine the address that the proxy reports."""
    return network_of(scope["client"][0][:ADDRESS_CHARACTERS]) if scope.get("client") else ""


@lru_cache(4096)
def network_of(host: str) -> str:
    """Return an IPv4 address as it is, and of an IPv6 address its /64 network, which one client has as a whole."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def share_of(count: int) -> int:
    """Return how many of `count` slots one client may hold."""
    return max(1, count // SHARES)


class ClientSlots:
    """A number of slots of which one client may hold a share; for use on the event loop only."""

    def __init__(self, count: int) -> None:
        self._count, self._share = count, share_of(count)
        self._held: Counter[str] = Counter()
        self._total = 0

    def take(self, client: str) -> bool:
        """Take a slot if one is free for the client; returns whether it was."""
        if self._total >= self._count or self._held[client] >= self._share:
            return False
        self._held[client] += 1
        self._total += 1
        return True

    def release(self, client: str) -> None:
        """Release a slot that the client had taken."""
        self._total -= 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]

    @contextmanager
    def held(self, request: Request) -> Iterator[None]:
        """Hold a slot of the client of a request during the block; raises 429 if none is free."""
        client = client_of(request.scope)
        if not self.take(client):
            raise busy()
        try:
            yield
        finally:
            self.release(client)
