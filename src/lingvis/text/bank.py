"""Tokenised sentences kept as one flat array, on the device, from which batches are cut without a Python loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from lingvis.text.tokenizers import Tokenizer
from lingvis.types import TextBatch


class TokenBank:
    """Sentences tokenised once; `lengths` stay on the host, ids on `device`."""

    def __init__(
        self, *, tokenizer: Tokenizer, texts: Sequence[str], langs: Sequence[str], device: torch.device
    ) -> None:
        ids = tokenizer(texts, langs)
        self.lengths: NDArray[np.int64] = np.fromiter((len(row) for row in ids), np.int64, count=len(ids))
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        self._flat = torch.from_numpy(np.concatenate(ids)).to(device)
        self._pad, self._langs, self._device = tokenizer.vocabulary.pad, langs, device

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: NDArray[np.int64]) -> TextBatch:
        """The sentences `rows`, padded to the longest of them."""
        lengths = self.lengths[rows][:, None]
        position = np.arange(lengths.max())
        valid = position < lengths
        index = self._starts[rows][:, None] + np.minimum(position, lengths - 1)
        mask = torch.from_numpy(valid).to(self._device, non_blocking=True)
        ids = self._flat[torch.from_numpy(index).to(self._device, non_blocking=True)]
        return TextBatch(ids.masked_fill(~mask, self._pad), mask, [self._langs[row] for row in rows])
