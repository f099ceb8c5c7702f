"""Batches of captions, whatever their pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Ints
from lingvis.bounds import Count, Positive
from lingvis.terms.base import Origin
from lingvis.training.sampling.base import SAMPLERS, Sampler, SentenceTable, by_language


@SAMPLERS.register("captions", "batches of human captions, whatever their pictures; each once per pass")
class CaptionSampler(Sampler):
    """`batch_size` captions per batch; captions of similar length meet when `bucket` is above 1.

    Shuffled captions are cut into stretches of `bucket` batches, each stretch is sorted by length, and the batches are
    shuffled again. No caption is left out: a remainder of one joins the batch before it, since a batch of one has no
    negatives. A temperature above 1 favours languages with few captions: a language of n captions is
    drawn with probability proportional to n^(1/temperature), and a pass has as many captions as the dataset.
    least_steps: an epoch has at least this many batches; small datasets are repeated to reach it, so that an epoch is
    worth a validation.
    """

    def __init__(
        self,
        *,
        captions: SentenceTable,
        batch_size: Count,
        bucket: Count = 1,
        temperature: Positive = 1.0,
        least_steps: Count = 1,
    ) -> None:
        self._table = captions
        self._batch_size = batch_size
        self._bucket = bucket
        self._rows = captions.rows(Origin.HUMAN)
        self._weights = _shares(captions.langs[self._rows], temperature) if temperature != 1 else None
        count = len(self._rows)
        self._batches = max(1, count // batch_size + (count % batch_size > 1))
        self._passes = -(-least_steps // self._batches)

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return self._passes * self._batches

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        generator = np.random.default_rng([seed, epoch])
        return [batch for _ in range(self._passes) for batch in self._pass(generator)]

    def _pass(self, generator: np.random.Generator) -> list[Ints]:
        """Every caption once."""
        if self._weights is None:
            order = self._rows[generator.permutation(len(self._rows))]
        else:
            order = generator.choice(self._rows, len(self._rows), p=self._weights)
        size, lengths = self._batch_size, self._table.lengths
        if self._bucket > 1:
            stretches = np.split(order, range(size * self._bucket, len(order), size * self._bucket))
            order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in stretches])
        batches = np.split(order, [size * n for n in range(1, self._batches)])
        return [by_language(batches[n], self._table.langs) for n in generator.permutation(len(batches))]


def _shares(langs: Ints, temperature: float) -> NDArray[np.float64]:
    """The probability of each caption, [captions], when a language of n captions weighs n^(1/temperature)."""
    counts = np.bincount(langs).astype(np.float64)
    weights = (counts.clip(min=1) ** (1 / temperature - 1))[langs]
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
