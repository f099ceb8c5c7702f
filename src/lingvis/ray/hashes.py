"""Hashes of known contents, small enough to send to every machine."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np


class HashSet:
    """Membership by the first 8 of 32 bytes per hash; false positives are possible, false negatives are not."""

    def __init__(self, hashes: Collection[str]) -> None:
        self._first = np.sort(np.fromiter((int(hash[:16], 16) for hash in hashes), np.uint64, len(hashes)))

    def __contains__(self, digest: object) -> bool:
        key = np.uint64(int(str(digest)[:16], 16))
        place = int(np.searchsorted(self._first, key))
        return place < len(self._first) and bool(self._first[place] == key)
