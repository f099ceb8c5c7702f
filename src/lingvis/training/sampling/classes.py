"""Names of classes join the batches of another sampler."""

from __future__ import annotations

import numpy as np

from lingvis.arrays import Ints
from lingvis.terms.base import Origin
from lingvis.training.sampling.base import Sampler, SentenceTable, by_language
from lingvis.training.sampling.images import SentenceCells

LANGUAGES = 3  # of the names of a class in a batch


class ClassSampler(Sampler):
    """The batches of another sampler, each followed by names of `classes` classes, one in each of some languages."""

    def __init__(self, sampler: Sampler, sentences: SentenceTable, *, classes: int) -> None:
        self._sampler = sampler
        self._langs = sentences.langs
        rows = sentences.rows(Origin.CLASS)
        self._cells = SentenceCells(sentences, rows)
        self._groups = np.unique(sentences.groups[rows])
        self._count = min(classes, len(self._groups))

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return self._sampler.batch_count()

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        generator = np.random.default_rng([seed, epoch, Origin.CLASS])
        return [np.concatenate([batch, self._names(generator)]) for batch in self._sampler.epoch(seed, epoch)]

    def _names(self, generator: np.random.Generator) -> Ints:
        """Names of randomly drawn classes, grouped by language."""
        groups = generator.choice(self._groups, self._count, replace=False)
        has_name = self._cells.count[groups] > 0
        keys = np.where(has_name, generator.random(has_name.shape), np.inf)
        chosen = np.zeros_like(has_name)
        np.put_along_axis(chosen, np.argsort(keys, axis=1)[:, :LANGUAGES], True, axis=1)
        rows, _ = self._cells.draw(generator, groups, chosen & has_name, 1)
        return by_language(rows, self._langs)
