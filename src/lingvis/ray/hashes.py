"""Hashes of known contents, small enough to be sent to every machine."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np


class HashSet:
    """Membership by the first 8 of 32 bytes, 8 bytes a hash; it may say yes to an unknown one, never no to a known."""

    def __init__(self, hashes: Collection[str]) -> None:
        self._first = np.sort(np.fromiter((int(each[:16], 16) for each in hashes), np.uint64, len(hashes)))

    def __contains__(self, digest: object) -> bool:
        wanted = np.uint64(int(str(digest)[:16], 16))
        place = int(np.searchsorted(self._first, wanted))
        return place < len(self._first) and bool(self._first[place] == wanted)
