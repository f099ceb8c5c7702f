"""Tickets for downloads: the pictures are named in a first request, and the browser fetches the file in a second one."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from lingvis.collection.stores.records import PictureInfo
from lingvis.serve.workers.state import SharedState

TICKETS = 200  # beyond this number the oldest is dropped
SECONDS = 600.0
PICTURES = TypeAdapter(list[PictureInfo])


@dataclass(frozen=True, slots=True)
class Ticket:
    """Pictures to download, without their signatures, and the name of the archive."""

    name: str
    pictures: Sequence[PictureInfo]


class Tickets:
    """Tickets that are hard to guess, valid for ten minutes; for use on the event loop only."""

    def __init__(self, state: SharedState) -> None:
        self._state = state

    def issue(self, name: str, pictures: Sequence[PictureInfo]) -> str:
        """Return a new ticket."""
        key = secrets.token_urlsafe(16)
        stored = PICTURES.dump_json([replace(info, signature=None) for info in pictures])
        self._state.ask(
            "INSERT INTO tickets VALUES (?, ?, ?, ?)", key, name, stored, time.monotonic() + SECONDS
        )
        self._state.keep("tickets", TICKETS)
        return key

    def find(self, key: str) -> Ticket | None:
        """Return a valid ticket; it may be used again, for a download that was interrupted."""
        rows = self._state.ask("SELECT name, pictures, expiry FROM tickets WHERE key = ?", key)
        if not rows or time.monotonic() >= rows[0][2]:
            return None
        name, pictures, _ = rows[0]
        return Ticket(name, PICTURES.validate_json(pictures))
