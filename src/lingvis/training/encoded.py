"""The vectors of a batch, encoded whole or in parts: by several processes, or one chunk after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lingvis.processes.exchange import gathered
from lingvis.processes.group import process_count
from lingvis.training.batches import Batch


class Encoded(NamedTuple):
    """image_emb [I, ...], text_emb [T, ...], word_average [T, W]; with classes class_emb [K, D] and class_scores [I, C]."""

    image_emb: Tensor
    text_emb: Tensor
    word_average: Tensor
    class_emb: Tensor | None = None
    class_scores: Tensor | None = None

    def gathered(self, batch: Batch) -> Encoded:
        """The vectors of a batch of which every process has encoded its part."""
        images, texts, classes = batch.sizes
        return Encoded(
            gathered(self.image_emb, images),
            gathered(self.text_emb, texts),
            gathered(self.word_average, texts),
            None if self.class_emb is None else gathered(self.class_emb, classes),
            None if self.class_scores is None else gathered(self.class_scores, images),
        )


def in_chunks(encode: Callable[[Batch], Encoded], chunks: Sequence[Batch]) -> Encoded:
    """Encode one chunk after the other, keeping only their vectors; the backward pass encodes each again.

    Gradient caching (Gao et al. 2021): the memory is that of one chunk, and the gradients are those of all at once. The
    second time the same random numbers are drawn.
    """

    def again(chunk: Batch) -> Encoded:
        # As arguments, the tensors tell on which GPU the random numbers are drawn.
        tensors = chunk.tensors
        values: Encoded = checkpoint(
            lambda *flat: encode(replace(chunk, tensors=tensors.like(flat))),
            *tensors.flat(),
            use_reentrant=False,
        )
        return values

    parts = [again(chunk) for chunk in chunks]
    return Encoded(
        torch.cat([part.image_emb for part in parts]),
        torch.cat([part.text_emb for part in parts]),
        torch.cat([part.word_average for part in parts]),
        _joined([part.class_emb for part in parts]),
        _joined([part.class_scores for part in parts]),
    )


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    """The rows of all parts; None for a model without classes."""
    present = [part for part in parts if part is not None]
    return torch.cat(present) if present else None


def chunk_count(batch: Batch, most: int) -> int:
    """Number of parts with at most `most` sentences, pictures and classes each, and at least one of each."""
    return min(-(-max(batch.sizes) // most), *_present(batch))


def is_split(batch: Batch) -> bool:
    """Whether a batch has enough of everything for all processes; otherwise each of them encodes all of it."""
    return min(_present(batch)) >= process_count() > 1


def _present(batch: Batch) -> list[int]:
    return [size for size in batch.sizes if size]
