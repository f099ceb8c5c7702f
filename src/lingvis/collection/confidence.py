"""Hits with the confidence that the calibration of the model gives them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from lingvis.collection.stores.records import Hit
from lingvis.relevance.calibration import Calibration

FRESH = 10.0  # seconds for which the number of pictures is kept: counting takes long on a server


class HitConfidence:
    """Adds `confidence` to hits; count: returns the number of pictures in the collection."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._counted: tuple[float, int] | None = None

    def __call__(
        self, hits: Sequence[Hit], calibration: Calibration | None, *, understood: bool
    ) -> list[Hit]:
        """Return the hits of a query by words; understood: whether the model knows a word of each sentence."""
        if calibration is None or not hits:
            return list(hits)
        pictures = self._pictures()
        return [
            replace(hit, confidence=calibration.confidence(hit.score, pictures) if understood else "weak")
            for hit in hits
        ]

    def _pictures(self) -> int:
        now = time.monotonic()
        if self._counted is None or now - self._counted[0] > FRESH:
            self._counted = now, self._count()
        return self._counted[1]
