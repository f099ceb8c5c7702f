"""Pictures without human captions join the batches of another sampler."""

from __future__ import annotations

import numpy as np

from lingvis.arrays import Ints
from lingvis.terms.base import Origin
from lingvis.training.sampling.base import Sampler, SentenceTable


class PseudoSampler(Sampler):
    """The batches of another sampler, each followed by the pseudo captions of `pictures` pictures.

    one_each: use one pseudo caption per picture instead of all.
    """

    def __init__(self, sampler: Sampler, sentences: SentenceTable, *, pictures: int, one_each: bool) -> None:
        self._sampler = sampler
        rows = sentences.rows(Origin.PSEUDO)
        groups, langs = sentences.groups[rows], sentences.langs[rows]
        order = np.lexsort((langs, groups))
        self._rows = rows[order]
        self._langs = langs[order]
        self._one_each = one_each
        _, self._starts, self._counts = np.unique(groups[order], return_index=True, return_counts=True)
        self._pictures = min(pictures, len(self._starts))

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return self._sampler.batch_count()

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch; all pictures occur equally often, up to a difference of one."""
        generator = np.random.default_rng([seed, epoch, 1])
        batches = self._sampler.epoch(seed, epoch)
        needed, count = len(batches) * self._pictures, len(self._starts)
        order = np.concatenate([generator.permutation(count) for _ in range(-(-needed // count))])
        return [
            np.concatenate([batch, self._captions(order[place : place + self._pictures], generator)])
            for batch, place in zip(batches, range(0, needed, self._pictures), strict=True)
        ]

    def _captions(self, pictures: Ints, generator: np.random.Generator) -> Ints:
        """All captions of pictures, or one per picture, grouped by language.

        A repeated picture counts once.
        """
        pictures = np.unique(pictures)
        counts = self._counts[pictures]
        if self._one_each:
            places = self._starts[pictures] + generator.integers(counts)
        else:
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            places = np.repeat(self._starts[pictures], counts) + within
        rows: Ints = self._rows[places[np.argsort(self._langs[places], kind="stable")]]
        return rows
