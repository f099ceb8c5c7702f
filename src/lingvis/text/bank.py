"""Tokenised sentences as one flat tensor on the device, from which batches are cut without a Python loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lingvis.ragged import RaggedIndex, starts_of
from lingvis.text.tokenizers import Tokenizer
from lingvis.types import TextBatch


class TokenBank:
    """Sentences, tokenised once."""

    def __init__(
        self, *, tokenizer: Tokenizer, texts: Sequence[str], langs: Sequence[str], device: torch.device
    ) -> None:
        ids = tokenizer(texts, langs)
        lengths = np.fromiter((len(row) for row in ids), np.int64, count=len(ids))
        self.rows = RaggedIndex(starts_of(lengths), lengths, device)
        self._flat = torch.from_numpy(np.concatenate(ids)).to(device)
        self._pad = tokenizer.vocabulary.pad

    def __len__(self) -> int:
        return len(self.rows.lengths)

    def gather(self, rows: Tensor, length: int) -> TextBatch:
        """Sentences by number, int64 [B] on the device, padded to `length`."""
        places, mask = self.rows.gather(rows, length)
        return TextBatch(self._flat[places].masked_fill(~mask, self._pad), mask)

    def batch(self, rows: NDArray[np.int64]) -> TextBatch:
        """Sentences by number, padded to the longest of them."""
        return self.gather(torch.from_numpy(rows).to(self._flat.device), self.rows.longest(rows))
