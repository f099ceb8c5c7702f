"""All sentences and pictures of a run on the device, and the batch of one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lingvis.arrays import Bools, Ints
from lingvis.image.table import FeatureTable
from lingvis.terms.base import Columns, Origin
from lingvis.text.bank import TokenBank
from lingvis.training.pixels import AugmentedPixels
from lingvis.training.sampling import SentenceTable
from lingvis.training.sources import Sentences
from lingvis.training.text_teachers import SentenceTargets

# Pictures per batch are rounded up to this multiple, so that batches have few different shapes.
IMAGE_MULTIPLE = 16
FILLER = -1  # the number of a picture that only fills up a batch; as an index it is that of the last one
WITH_PICTURE = (Origin.HUMAN, Origin.PSEUDO)


@dataclass(frozen=True, slots=True)
class ClassBatch:
    """Classes by number, [K], and which sentences name them, on the device; see ClassStep."""

    classes: Ints
    positives: Tensor
    named: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """The sentences of a step by number, [T], and each of their pictures once, [I].

    Pictures are filled up to a round number with fillers, which are nobody's positives. positives bool [I, T],
    groups and langs int64 [T]: on the device. pair_values, targets: see Step.
    """

    rows: Ints
    images: Ints
    columns: Columns
    positives: Tensor
    groups: Tensor
    langs: Tensor
    pair_values: dict[str, Tensor]
    targets: Tensor | None
    classes: ClassBatch | None


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
        table = self.table
        columns = Columns(table.groups[rows], table.langs[rows], table.origin[rows])
        pictured = np.isin(columns.origin, WITH_PICTURE) & self._pictured
        images = np.unique(columns.groups[pictured])
        if self._filled:
            images = np.concatenate([images, np.full(-len(images) % IMAGE_MULTIPLE, FILLER)])
        matches = images[:, None] == columns.groups
        pseudo = np.flatnonzero(columns.origin == Origin.PSEUDO)
        if len(pseudo):
            matches[:, pseudo] = _described_alike(matches[:, pseudo], self._wordings[rows[pseudo]])
        return Batch(
            rows,
            images,
            columns,
            self._to_device(matches),
            self._to_device(columns.groups),
            self._to_device(columns.langs),
            {values.name: values.values(images, rows) for values in self._pair_values},
            None if self._targets is None else self._targets.of(rows),
            self._cut_classes(rows, columns),
        )

    def _cut_classes(self, rows: Ints, columns: Columns) -> ClassBatch | None:
        """The classes that the sentences of a batch name."""
        if self._classes is None:
            return None
        places = np.flatnonzero(columns.origin == Origin.CLASS)
        groups = np.unique(columns.groups[places])
        classes = self._classes.classes(groups)
        return ClassBatch(
            classes,
            self._to_device(groups[:, None] == columns.groups[places]),
            self._to_device(self._classes.named(rows[places], classes)),
        )

    def _to_device(self, values: Ints | Bools) -> Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)


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
