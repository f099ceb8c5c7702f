"""Principal component analysis: vectors of any size -> fewer dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.errors import UserError


def reduce(vectors: Floats, dim: int) -> Floats:
    """Coordinates of vectors [n, size] along the `dim` axes of largest variance, [n, dim], largest first.

    The mean is subtracted first, so zero is the average vector: pass the vectors of known words only, and
    leave unknown ones at zero. The largest weight of each axis is made positive: the sign of an eigenvector is
    arbitrary, and results should not depend on the linear algebra library.
    """
    count, size = vectors.shape
    most = min(count, size)
    if not 1 <= dim <= most:
        raise UserError(
            f"cannot reduce {count} vectors of {size} dimensions to {dim}; choose a size from 1 to {most}"
        )
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    axes: NDArray[np.float64] = np.linalg.svd(centred.T @ centred, hermitian=True)[0][:, :dim]
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.sign(axes[largest, np.arange(dim)])
    coordinates: Floats = (centred @ axes).astype(np.float32)
    return coordinates
