"""CLC-A: the mean of the scores over languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lingvis.arrays import Floats


class MeanConsistency:
    """The mean of the scores over languages; there is nothing to learn (CLC-A)."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)

    def __call__(self, scores: Floats) -> Floats:
        return np.asarray(scores.mean(axis=0), dtype=np.float32)
