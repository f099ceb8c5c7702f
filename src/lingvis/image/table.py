"""Stored feature sets -> Tokens by row number: resident on the device when they fit, memory-mapped otherwise."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.types import Tokens

# The share of a GPU's free memory that features may take; the rest is for weights and activations.
SHARE_OF_MEMORY = 0.6


class FeatureTable:
    """Sets of vectors, flat: set r is values[offsets[r] : offsets[r + 1]], of variable size.

    values: float16 [total, dim], usually memory-mapped; `rows` restricts and orders the sets served.
    """

    def __init__(
        self,
        *,
        values: NDArray[np.float16],
        offsets: NDArray[np.int64],
        rows: NDArray[np.int64],
        device: torch.device,
    ) -> None:
        self.device = device
        self._starts, self.sizes = offsets[:-1][rows], np.diff(offsets)[rows]
        self._values = values
        self._resident: torch.Tensor | None = None
        if device.type == "cuda":
            wanted = int(self.sizes.sum()) * values.shape[1] * values.itemsize
            if wanted <= SHARE_OF_MEMORY * torch.cuda.mem_get_info(device)[0]:
                self._move_to_device()

    def __len__(self) -> int:
        return len(self.sizes)

    def fetch(self, rows: NDArray[np.int64]) -> Tokens:
        """The sets `rows`, padded to the largest of them: float32 values on the device."""
        sizes = self.sizes[rows][:, None]
        position = np.arange(sizes.max())
        mask = torch.from_numpy(position < sizes).to(self.device, non_blocking=True)
        index = self._starts[rows][:, None] + np.minimum(position, sizes - 1)
        if self._resident is not None:
            values = self._resident[torch.from_numpy(index).to(self.device, non_blocking=True)]
        else:
            values = torch.from_numpy(self._values[index]).to(self.device, non_blocking=True)
        return Tokens(values.float(), mask)

    def _move_to_device(self) -> None:
        parts = [
            self._values[start : start + size] for start, size in zip(self._starts, self.sizes, strict=True)
        ]
        self._resident = torch.from_numpy(np.concatenate(parts)).to(self.device)
        self._starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
