"""Rows of different lengths in one flat tensor, from which padded batches are cut on the device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Ints


class RaggedIndex:
    """Row r is the stretch starts[r] : starts[r] + lengths[r] of a flat tensor.

    Lengths are kept on the host too: the padded length of a batch is decided there, so that the device is
    never waited for.
    """

    def __init__(self, starts: Ints, lengths: Ints, device: torch.device) -> None:
        self.lengths = lengths
        self._uniform = bool(len(lengths)) and bool((lengths == lengths[0]).all())
        self._starts = torch.from_numpy(starts).to(device)
        self._device_lengths = torch.from_numpy(lengths).to(device)

    def longest(self, rows: Ints, *, multiple: int = 1) -> int:
        """The length to pad `rows` to, rounded up to a multiple unless all rows there are have one length."""
        longest = int(self.lengths[rows].max())
        return longest if self._uniform else -(-longest // multiple) * multiple

    def gather(self, rows: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """rows int64 [B] -> places in the flat tensor int64 [B, length] and mask bool [B, length].

        Padded places repeat the row's last one, so that they can be read.
        """
        position = torch.arange(length, device=rows.device)
        lengths = self._device_lengths[rows].unsqueeze(1)
        return self._starts[rows].unsqueeze(1) + torch.minimum(position, lengths - 1), position < lengths


def starts_of(lengths: Ints) -> Ints:
    """Where rows of these lengths start when they lie one behind the other."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
