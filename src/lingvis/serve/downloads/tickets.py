"""Tickets for downloads: the pictures are named in a first request, and the browser fetches the file in a second one."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from lingvis.collection.stores.records import PictureInfo

TICKETS = 200  # beyond this number the oldest is dropped
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """Pictures to download, and the name of the archive."""

    name: str
    pictures: Sequence[PictureInfo]
    expiry: float


class Tickets:
    """Tickets that are hard to guess, valid for ten minutes; for use on the event loop only."""

    def __init__(self) -> None:
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()

    def issue(self, name: str, pictures: Sequence[PictureInfo]) -> str:
        """Return a new ticket."""
        key = secrets.token_urlsafe(16)
        self._tickets[key] = Ticket(name, pictures, time.monotonic() + SECONDS)
        if len(self._tickets) > TICKETS:
            self._tickets.popitem(last=False)
        return key

    def find(self, key: str) -> Ticket | None:
        """Return a valid ticket; it may be used again, for a download that was interrupted."""
        ticket = self._tickets.get(key)
        return ticket if ticket is not None and time.monotonic() < ticket.expiry else None
