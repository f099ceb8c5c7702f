"""Thumbnails in memory: a page shows the same ones to everybody."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Self

FRESH = 10.0  # seconds; after that, a picture that was dropped from the collection is gone here, too
MOST_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small JPEG; mark: an identifier of the content."""

    jpeg: bytes
    mark: str

    @classmethod
    def of(cls, jpeg: bytes) -> Self:
        """Return a JPEG with its mark."""
        return cls(jpeg, f'"{hashlib.sha256(jpeg).hexdigest()[:32]}"')


class Thumbnails:
    """Thumbnails by id and hash of their picture, the last ones for some seconds; for use on the event loop only."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[float, Thumbnail]] = OrderedDict()
        self._bytes = 0

    def find(self, id: str, hash: str) -> Thumbnail | None:
        """Return a thumbnail that is still fresh."""
        until, thumbnail = self._kept.get((id, hash), (0.0, None))
        return thumbnail if time.monotonic() < until else None

    def keep(self, id: str, hash: str, thumbnail: Thumbnail) -> None:
        """Keep a thumbnail, and drop the oldest ones."""
        self._drop(id, hash)
        self._kept[id, hash] = time.monotonic() + FRESH, thumbnail
        self._bytes += len(thumbnail.jpeg)
        while self._bytes > MOST_BYTES:
            self._drop(*next(iter(self._kept)))

    def _drop(self, id: str, hash: str) -> None:
        _, thumbnail = self._kept.pop((id, hash), (0.0, None))
        self._bytes -= len(thumbnail.jpeg) if thumbnail is not None else 0
