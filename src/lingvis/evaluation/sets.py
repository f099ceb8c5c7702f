"""Sets of vectors of different sizes, and their scores, one block at a time: for models without pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.evaluation.scorers import Buffer, Index, near_the_diagonal

# Sets to compare at once, all padded to the largest: 25 MB and 20 MB of 1024 values.
IMAGES, TEXTS = 128, 256


class VectorSets:
    """Set n is values[starts[n] : starts[n] + sizes[n]] of float32 [total, dim]: no memory is used for padding."""

    def __init__(self, values: Floats, starts: Ints, sizes: Ints) -> None:
        self.values, self.starts, self.sizes = values, starts, sizes

    @classmethod
    def pack(cls, parts: Sequence[Floats]) -> VectorSets:
        """From arrays [sets, L, dim], each with its own L; a vector of zeros is padding."""
        valid = [part.any(axis=2) for part in parts]
        sizes = np.concatenate([each.sum(axis=1) for each in valid]).astype(np.int64)
        values = np.concatenate([part[each] for part, each in zip(parts, valid, strict=True)])
        return cls(values, np.cumsum(sizes) - sizes, sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: Index | list[int]) -> VectorSets:
        return VectorSets(self.values, self.starts[index], self.sizes[index])

    def padded(self) -> Floats:
        """One array [sets, L, dim] with zeros after the last vector of each set."""
        places = np.arange(self.sizes.max(initial=1))
        filled = places < self.sizes[:, None]
        padded = np.zeros((*filled.shape, self.values.shape[1]), dtype=np.float32)
        padded[filled] = self.values[(self.starts[:, None] + places)[filled]]
        return padded


class SetScores:
    """Scores by a function of two arrays of sets, such as cross attention.

    score(images [n, L, dim], texts [m, W, dim]) -> [n, m]. Sets of similar size are scored
    together to reduce padding.
    """

    def __init__(
        self, score: Callable[[Floats, Floats], Floats], image_sets: VectorSets, text_sets: VectorSets
    ) -> None:
        self.score, self.image_sets, self.text_sets = score, image_sets, text_sets
        self._buffer = Buffer()

    @property
    def shape(self) -> tuple[int, int]:
        """(images, texts)."""
        return len(self.image_sets), len(self.text_sets)

    def block(self, images: Index, texts: Index) -> Floats:
        """Computed for some images and some texts at a time."""
        left, right = self.image_sets[images], self.text_sets[texts]
        out = self._buffer.shaped(len(left), len(right))
        for rows in _similar(left.sizes, IMAGES):
            some = left[rows].padded()
            for columns in _similar(right.sizes, TEXTS):
                out[np.ix_(rows, columns)] = self.score(some, right[columns].padded())
        return out

    def pairs(self, image_of: Ints) -> Floats:
        """From small blocks near the diagonal."""
        return near_the_diagonal(self.block, image_of)

    def take(self, images: Index, texts: Index) -> SetScores:
        """The scorer of some images and some texts."""
        return SetScores(self.score, self.image_sets[images], self.text_sets[texts])


def _similar(sizes: Ints, count: int) -> Iterator[Ints]:
    """Positions of sets of similar size, `count` at a time."""
    order = np.argsort(sizes, kind="stable")
    for first in range(0, len(order), count):
        yield order[first : first + count]
