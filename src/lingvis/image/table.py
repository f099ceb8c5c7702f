"""Stored feature sets -> Tokens by number; on the device if they fit, memory-mapped otherwise."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Ints, StoredValues
from lingvis.layers.ragged import RaggedIndex, starts_of
from lingvis.types import Tokens

# The share of a GPU's free memory that features may take; the rest is for weights and activations.
SHARE_OF_MEMORY = 0.6
SETS_PER_COPY = 1024


class FeatureTable:
    """Sets of vectors, flat: set r is values[offsets[r] : offsets[r + 1]], of variable size.

    values: float16 or uint8 [total, dim], usually memory-mapped. rows: the sets of this table, in its order.
    """

    def __init__(
        self,
        *,
        values: StoredValues,
        offsets: Ints,
        rows: Ints,
        device: torch.device,
    ) -> None:
        self.device = device
        starts, sizes = offsets[:-1][rows], np.diff(offsets)[rows]
        self._mapped = values
        self._resident: Tensor | None = None
        if _fits(int(sizes.sum()) * values.shape[1] * values.itemsize, device):
            self._resident = _copy(values, starts, sizes, device)
            starts = starts_of(sizes)
        self.rows = RaggedIndex(starts, sizes, device)

    def __len__(self) -> int:
        return len(self.rows.lengths)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self._mapped.shape[1])

    @property
    def resident(self) -> bool:
        """Whether all sets are on the GPU."""
        return self._resident is not None

    def gather(self, rows: Tensor, size: int) -> Tokens:
        """Sets by number, int64 [B] on the device, padded to `size`: float32 values, or uint8 for pixels.

        A negative number is that of a filler.
        """
        places, mask = self.rows.gather(rows, size)
        if self._resident is not None:
            values = self._resident[places]
        else:
            values = torch.from_numpy(self._mapped[places.cpu().numpy()]).to(self.device, non_blocking=True)
        return Tokens(values if values.dtype == torch.uint8 else values.float(), mask, fillers=rows < 0)

    def batch(self, rows: Ints) -> Tokens:
        """Sets by number, padded to the largest."""
        on_device = torch.from_numpy(rows).to(self.device, non_blocking=True)
        return self.gather(on_device, self.rows.longest(rows))


def _fits(size: int, device: torch.device) -> bool:
    """Whether `size` bytes fit into the GPU."""
    return device.type == "cuda" and size <= SHARE_OF_MEMORY * torch.cuda.mem_get_info(device)[0]


def _copy(values: StoredValues, starts: Ints, sizes: Ints, device: torch.device) -> Tensor:
    """Copy the sets to the device in portions, so that the host never holds all of them."""
    kind = torch.uint8 if values.dtype == np.uint8 else torch.float16
    copied = torch.empty(int(sizes.sum()), values.shape[1], dtype=kind, device=device)
    ends = np.cumsum(sizes)
    for first in range(0, len(sizes), SETS_PER_COPY):
        rows = slice(first, first + SETS_PER_COPY)
        parts = [values[start : start + size] for start, size in zip(starts[rows], sizes[rows], strict=True)]
        begin = ends[first] - sizes[first]
        copied[begin : begin + int(sizes[rows].sum())] = torch.from_numpy(np.concatenate(parts)).to(device)
    return copied
