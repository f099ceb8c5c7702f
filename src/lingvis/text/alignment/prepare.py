"""Word vectors as the maps between languages want them."""

from __future__ import annotations

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.text.alignment.neighbours import blocks


def prepare(values: Floats, *, in_place: bool = False) -> Floats:
    """Vectors [n, d] as directions from their centre, float32 rows of unit length; give a whole table at once.

    Rows are brought to unit length, their mean is taken away, and they are brought to unit length again
    (Artetxe et al. 2018, sec. 4): frequent words, whose vectors may be long, do not draw the centre to them.

    A row of zeros is a word without a vector. It stays zero and takes no part in the mean: taking the mean away
    would give all such words one and the same direction, which many words would then have as their neighbour.

    in_place: write over `values`, where there is no room for a second table.
    """
    prepared = values if in_place else np.empty_like(values)
    total = np.zeros(values.shape[1], dtype=np.float64)
    found = 0
    for here in blocks(len(values)):
        prepared[here], known = _unit(values[here])
        total += prepared[here].sum(axis=0, dtype=np.float64)
        found += int(known.sum())
    mean = (total / max(found, 1)).astype(np.float32)
    for here in blocks(len(values)):
        block = prepared[here]
        block -= np.where(block.any(axis=1, keepdims=True), mean, 0)
        prepared[here], _ = _unit(block)
    return prepared


def _unit(vectors: Floats) -> tuple[Floats, Bools]:
    """Rows of unit length, and which have any; the others are zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = lengths > 0
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=known), known
