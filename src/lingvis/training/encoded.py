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
        sizes = Encoded._fields, (images, texts, texts, classes, images)
        whole = {name: each_gathered(getattr(self, name), size) for name, size in zip(*sizes, strict=True)}
        return self._replace(**whole)


def each_gathered(own: Tensor | None, size: int) -> Tensor | None:
    """`gathered`, for values that a model may lack."""
    return None if own is None or not size else gathered(own, size)


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

    values = zip(*(again(chunk) for chunk in chunks), strict=True)
    return Encoded(*(None if parts[0] is None else torch.cat(parts) for parts in values))


def chunk_count(batch: Batch, most: int) -> int:
    """Number of parts with at most `most` sentences, pictures and classes each, and at least one of each."""
    return min(-(-max(batch.sizes) // most), *_present(batch))


def is_split(batch: Batch) -> bool:
    """Whether a batch has enough of everything for all processes; otherwise each of them encodes all of it."""
    return min(_present(batch)) >= process_count() > 1


def _present(batch: Batch) -> list[int]:
    return [size for size in batch.sizes if size]
