"""Which captions make up which batch: a function of the seed and the epoch, so that a resumed run sees the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def epoch_batches(
    lengths: NDArray[np.int64], *, batch_size: int, bucket: int, seed: int, epoch: int
) -> list[NDArray[np.int64]]:
    """Every caption once, in random order; captions of like length meet in a batch.

    Shuffled captions are cut into stretches of `bucket` batches, each stretch is sorted by length, and the
    batches are shuffled again. No caption is left out: a remainder of one joins the batch before it, since a
    batch of one has no negatives.
    """
    generator = np.random.default_rng([seed, epoch])
    order = generator.permutation(len(lengths))
    if bucket > 1:
        stretches = np.split(order, range(batch_size * bucket, len(order), batch_size * bucket))
        order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in stretches])
    batches = np.split(order, [batch_size * n for n in range(1, batch_count(len(order), batch_size))])
    return [batches[index] for index in generator.permutation(len(batches))]


def batch_count(captions: int, batch_size: int) -> int:
    """Number of batches of an epoch."""
    return max(1, captions // batch_size + (captions % batch_size > 1))
