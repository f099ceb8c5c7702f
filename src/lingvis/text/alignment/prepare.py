"""Word vectors in the form that maps between languages expect."""

from __future__ import annotations

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.text.alignment.neighbours import blocks


def prepare(values: Floats, *, in_place: bool = False) -> Floats:
    """Vectors [n, d] as directions from their centre, float32 rows of unit length; pass a whole table at once.

    Rows are scaled to unit length, their mean is subtracted, and they are scaled to unit length again
    (Artetxe et al. 2018, sec. 4), so that frequent words, whose vectors may be long, do not dominate the centre.

    A row of zeros is a word without a vector. It stays zero and does not count in the mean: subtracting the mean
    would give all such words the same direction, and they would become neighbours of many words.

    in_place: overwrite `values`, to save the memory of a second table.
    """
    prepared = values if in_place else np.empty_like(values)
    total = np.zeros(values.shape[1], dtype=np.float64)
    count = 0
    for part in blocks(len(values)):
        prepared[part], known = _unit(values[part])
        total += prepared[part].sum(axis=0, dtype=np.float64)
        count += int(known.sum())
    mean = (total / max(count, 1)).astype(np.float32)
    for part in blocks(len(values)):
        block = prepared[part]
        block -= np.where(block.any(axis=1, keepdims=True), mean, 0)
        prepared[part], _ = _unit(block)
    return prepared


def _unit(vectors: Floats) -> tuple[Floats, Bools]:
    """Rows scaled to unit length, and which rows have a length; the others stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = lengths > 0
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=known), known
