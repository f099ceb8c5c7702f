"""Array types that many modules share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
StoredValues = NDArray[Any]  # of features: float16 vectors, or uint8 pixels
