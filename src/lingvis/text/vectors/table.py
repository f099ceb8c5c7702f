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
    def of(cls, vectors: Mapping[str, Floats], dim: int) -> WordTable:
        """A table of a mapping from words to vectors [dim]; it may be empty."""
        values = np.empty((len(vectors), dim), dtype=np.float32)
        for row, vector in enumerate(vectors.values()):
            values[row] = vector
        return cls(list(vectors), values)

    @property
    def dim(self) -> int:
        """The size of a vector."""
        return int(self.values.shape[1])
