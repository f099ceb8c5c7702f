"""Hits with the confidence that the calibration of the model gives them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.records import Filter, Hit
from lingvis.relevance.calibration import Calibration
from lingvis.relevance.spread import SAMPLED, ScoreSpread

FRESH = 10.0  # seconds for which the number of pictures is kept: counting takes long on a server
CHANGED = 0.1  # share of the pictures by which the number must change before others are sampled


@dataclass(frozen=True, slots=True, eq=False)
class _Pictures:
    """The number of pictures at some time, and a sample of them, the newest, float32 [sample, dim]."""

    counted: float
    number: int
    sample: Floats
    number_sampled: int


class HitConfidence:
    """Adds `confidence` to hits; store: returns the store of the collection."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._known: _Pictures | None = None

    def __call__(
        self, hits: Sequence[Hit], calibration: Calibration | None, query: Floats, *, understood: bool
    ) -> list[Hit]:
        """Return the hits of a query by words, a vector [dim].

        understood: whether the model knows a word of each sentence.
        """
        if calibration is None or not hits:
            return list(hits)
        if not understood:
            return [replace(hit, confidence="weak") for hit in hits]
        pictures = self._pictures(len(query))
        spread = ScoreSpread.of(pictures.sample @ query)
        return [
            Hit(hit.rank, hit.score, hit.info, calibration.confidence(hit.score, pictures.number, spread))
            for hit in hits
        ]

    def _pictures(self, dim: int) -> _Pictures:
        now, known = time.monotonic(), self._known
        if known is None or now - known.counted > FRESH:
            store = self._store()
            number = store.count()
            if known is None or abs(number - known.number_sampled) > CHANGED * known.number_sampled:
                known = _Pictures(now, number, _sample(store, dim), number)
            self._known = known = replace(known, counted=now, number=number)
        return known


def _sample(store: Store, dim: int) -> Floats:
    newest = store.browse(k=SAMPLED, where=Filter())
    vectors = store.vectors([picture.id for picture in newest])
    return np.array(list(vectors.values()), np.float32).reshape(-1, dim)
