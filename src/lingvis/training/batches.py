"""All sentences and pictures of a run on the device, and the batch of one step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Bools, Ints
from lingvis.image.table import FeatureTable
from lingvis.processes.exchange import own_share
from lingvis.terms.base import Columns, Origin
from lingvis.text.bank import TokenBank
from lingvis.training.pixels import AugmentedPixels
from lingvis.training.sampling import SentenceTable
from lingvis.training.sources import Sentences
from lingvis.training.text_teachers import SentenceTargets
from lingvis.types import Runs, Stages

# Sizes are rounded up to these multiples, so that batches have few different shapes.
IMAGE_MULTIPLE = 16  # pictures
LENGTH_MULTIPLE = 4  # words of a sentence
SIZE_MULTIPLE = 8  # vectors of a picture
WORD_MULTIPLE = 512  # distinct words
FILLER = -1  # the number of a picture that only fills up a batch; as an index it is that of the last one
WITH_PICTURE = (Origin.HUMAN, Origin.PSEUDO)


@dataclass(frozen=True, slots=True)
class BatchTensors:
    """Everything of a batch that lies on the device.

    rows int64 [T]: the sentences by number; images int64 [I]: each of their pictures once, filled up to a round number
    with fillers, which are nobody's positives; words int64: see TokenBank.words; classes int64 [K]: classes by number.
    positives bool [I, T], groups and langs int64 [T], pair_values, targets: see Step. class_positives, class_named: see
    ClassStep.
    """

    rows: Tensor
    images: Tensor
    words: Tensor
    classes: Tensor
    positives: Tensor
    groups: Tensor
    langs: Tensor
    pair_values: dict[str, Tensor]
    targets: Tensor | None
    class_positives: Tensor | None
    class_named: Tensor | None

    def flat(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        values = (getattr(self, field.name) for field in fields(self))
        return [each for value in values for each in _tensors(value)]

    def like(self, flat: Sequence[Tensor]) -> BatchTensors:
        """The same batch with other tensors, in the order of `flat`."""
        others = iter(flat)
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, dict):
                changed[field.name] = {name: next(others) for name in value}
            elif value is not None:
                changed[field.name] = next(others)
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class Batch:
    """The sentences and pictures of a step.

    rows: the sentences by number; columns, runs and stages (see TextBatch): facts about them; all on the host. length: of
    the longest sentence, and size: of the largest picture, both rounded up.
    """

    rows: Ints
    columns: Columns
    runs: Runs
    stages: Stages
    length: int
    size: int
    tensors: BatchTensors

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of pictures, of sentences and of classes."""
        return len(self.tensors.images), len(self.rows), len(self.tensors.classes)

    def shape(self, *, runs: bool, groups: bool) -> Hashable:
        """Equal for batches for which the same operations are computed.

        runs, groups: whether these depend on the runs, and on the number of pictures of the sentences.
        """
        return (
            tuple(each.shape for each in self.tensors.flat()),
            self.length,
            self.stages,
            self.size,
            self.columns.language_counts(),
            self.columns.authored_runs(),
            self.runs if runs else (),
            self.columns.group_count() if groups else 0,
        )


class Batches:
    """All sentences, tokenised, and all pictures of a run, on the device.

    targets: the teacher's embeddings of the sentences, if the run has a teacher. pictured: whether a term compares
    pictures; otherwise batches have none. filled: whether pictures are filled up to a round number.
    """

    def __init__(
        self,
        sentences: Sentences,
        captions: TokenBank,
        pictures: FeatureTable | AugmentedPixels,
        *,
        targets: SentenceTargets | None,
        pictured: bool,
        filled: bool,
    ) -> None:
        self._targets = targets
        self._pictured, self._filled = pictured, filled
        self.captions = captions
        self.pictures = pictures
        self.device = pictures.device
        self.table = SentenceTable(sentences.groups, captions.langs, captions.rows.lengths, sentences.origin)
        # Equal for pseudo captions with the same words; all other sentences differ.
        self._wordings = _wordings(sentences)
        self._classes = sentences.classes
        self._pair_values = sentences.pair_values
        for values in self._pair_values:
            values.to(self.device)

    def cut(self, rows: Ints) -> Batch:
        """Return the batch of these sentence numbers, grouped by language and origin."""
        table, captions = self.table, self.captions
        columns = Columns(table.groups[rows], table.langs[rows], table.origin[rows])
        pictured = np.isin(columns.origin, WITH_PICTURE) & self._pictured
        images = np.unique(columns.groups[pictured])
        if self._filled:
            images = np.concatenate([images, np.full(-len(images) % IMAGE_MULTIPLE, FILLER)])
        matches = images[:, None] == columns.groups
        pseudo = np.flatnonzero(columns.origin == Origin.PSEUDO)
        if len(pseudo):
            matches[:, pseudo] = _described_alike(matches[:, pseudo], self._wordings[rows[pseudo]])
        classes, class_positives, class_named = self._cut_classes(rows, columns)
        tensors = BatchTensors(
            rows=self._to_device(rows),
            images=self._to_device(images),
            words=self._words(rows),
            classes=self._to_device(classes),
            positives=self._to_device(matches),
            groups=self._to_device(columns.groups),
            langs=self._to_device(columns.langs),
            pair_values={values.name: values.values(images, rows) for values in self._pair_values},
            targets=None if self._targets is None else self._targets.of(rows),
            class_positives=class_positives,
            class_named=class_named,
        )
        length = captions.rows.longest(rows, multiple=LENGTH_MULTIPLE)
        return Batch(
            rows=rows,
            columns=columns,
            runs=captions.runs(rows),
            stages=captions.stages(rows, length),
            length=length,
            size=self.pictures.rows.longest(images, multiple=SIZE_MULTIPLE) if len(images) else 0,
            tensors=tensors,
        )

    def part(self, batch: Batch, number: int, count: int, *, words: bool) -> Batch:
        """One of `count` parts of a batch, to be encoded alone: its sentences, pictures and classes.

        Facts about sentences and tables stay those of the whole batch. words: whether it has only its own words.
        """
        images, rows, classes = (own_share(size, number, count) for size in batch.sizes)
        own = batch.rows[rows]
        tensors = replace(
            batch.tensors,
            rows=batch.tensors.rows[rows],
            images=batch.tensors.images[images],
            classes=batch.tensors.classes[classes],
            words=self._words(own) if words else batch.tensors.words,
        )
        captions = self.captions
        return replace(
            batch,
            rows=own,
            runs=captions.runs(own),
            stages=captions.stages(own, batch.length),
            tensors=tensors,
        )

    def _words(self, rows: Ints) -> Tensor:
        return self._to_device(self.captions.words(rows, multiple=WORD_MULTIPLE))

    def _cut_classes(self, rows: Ints, columns: Columns) -> tuple[Ints, Tensor | None, Tensor | None]:
        """The classes that the sentences of a batch name, and two tables of ClassStep: positives and named."""
        if self._classes is None:
            return np.empty(0, np.int64), None, None
        places = np.flatnonzero(columns.origin == Origin.CLASS)
        groups = np.unique(columns.groups[places])
        classes = self._classes.classes(groups)
        positives = self._to_device(groups[:, None] == columns.groups[places])
        return classes, positives, self._to_device(self._classes.named(rows[places], classes))

    def _to_device(self, values: Ints | Bools) -> Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)


def _tensors(value: Tensor | dict[str, Tensor] | None) -> list[Tensor]:
    if isinstance(value, dict):
        return list(value.values())
    return [] if value is None else [value]


def _wordings(sentences: Sentences) -> Ints:
    """A number per sentence, equal for pseudo captions with the same words; -1 for all others."""
    pseudo = sentences.rows(Origin.PSEUDO)
    wordings = np.full(len(sentences.texts), -1, np.int64)
    if len(pseudo):
        texts = np.asarray([sentences.texts[row] for row in pseudo])
        wordings[pseudo] = np.unique(texts, return_inverse=True)[1]
    return wordings


def _described_alike(own: Bools, wordings: Ints) -> Bools:
    """Return which pictures each pseudo caption fits, [I, captions]: all that share its wording.

    Detectors use few words: many pictures are "person dog", and none of them is a wrong answer to it.
    own: the picture that each caption was written for.
    """
    distinct, places = np.unique(wordings, return_inverse=True)
    said = np.zeros((len(own), len(distinct)), bool)
    image, caption = np.nonzero(own)
    said[image, places[caption]] = True
    return said[:, places]
