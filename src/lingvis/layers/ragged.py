"""Rows of different lengths in one flat tensor, from which padded batches are gathered on the device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Ints


class RaggedIndex:
    """Row r is the slice starts[r] : starts[r] + lengths[r] of a flat tensor.

    Lengths are kept on the host too: the padded length of a batch is computed there, so that nothing waits for the
    device.
    """

    def __init__(self, starts: Ints, lengths: Ints, device: torch.device) -> None:
        self.lengths = lengths
        self._uniform = bool(len(lengths)) and bool((lengths == lengths[0]).all())
        self._starts = torch.from_numpy(starts).to(device)
        self._device_lengths = torch.from_numpy(lengths).to(device)

    def longest(self, rows: Ints, *, multiple: int = 1) -> int:
        """The length to pad `rows` to, rounded up to a multiple unless all rows of the index have the same length."""
        longest = int(self.lengths[rows].max())
        return longest if self._uniform else -(-longest // multiple) * multiple

    def gather(self, rows: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """rows int64 [B] -> positions in the flat tensor int64 [B, length] and mask bool [B, length].

        Padded positions repeat the row's last one, so that they are valid indices.
        """
        position = torch.arange(length, device=rows.device)
        lengths = self._device_lengths[rows].unsqueeze(1)
        return self._starts[rows].unsqueeze(1) + torch.minimum(position, lengths - 1), position < lengths


def starts_of(lengths: Ints) -> Ints:
    """The starts of consecutive rows of these lengths."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
