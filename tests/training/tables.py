"""Tables of sentences for tests of samplers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lingvis.terms import Origin
from lingvis.training.sampling import SentenceTable

Ints = NDArray[np.int64]


def make_table(groups: Ints, langs: Ints, lengths: Ints, images: int) -> SentenceTable:
    """Human captions of pictures below number `images`; sentences of other groups have no picture."""
    origin = np.where(groups < images, Origin.HUMAN, Origin.TEXT_ONLY).astype(np.int8)
    return SentenceTable(groups, langs, lengths, origin)
