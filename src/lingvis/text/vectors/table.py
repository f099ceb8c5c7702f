"""Words and their vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lingvis.arrays import Floats


@dataclass(frozen=True, slots=True)
class WordTable:
    """words[i] has the vector values[i]; values: float32 [words, dim]."""

    words: list[str]
    values: Floats

    @classmethod
    def of(cls, found: Mapping[str, Floats], dim: int) -> WordTable:
        """From a mapping of words to vectors [dim]; it may be empty."""
        values = np.empty((len(found), dim), dtype=np.float32)
        for row, vector in enumerate(found.values()):
            values[row] = vector
        return cls(list(found), values)
