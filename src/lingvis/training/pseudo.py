"""Batches with captions that detectors wrote: pictures without annotation join those with it in every step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lingvis.training.sampling import Sampler

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TeacherVectors:
    """Vectors of all pictures and of all sentences, and which of these each found caption is."""

    images: Tensor
    texts: Tensor
    found: Ints


@dataclass(frozen=True, slots=True)
class PseudoCaptions:
    """Captions from number `first` on are of detectors.

    groups: which picture each of these is about; wordings: equal where two say the same in the same language.
    weight and objective: see PseudoSection. teachers: who found them, if teachers did; a picture then comes with one of
    its captions.
    """

    first: int
    groups: Ints
    wordings: Ints
    weight: float
    objective: nn.Module
    teachers: TeacherVectors | None = None

    def taught_by(
        self, images: NDArray[np.float32], texts: NDArray[np.float32], found: Ints, device: torch.device
    ) -> PseudoCaptions:
        """The same with the vectors of teachers, in half precision on the device; found: the text of each caption."""
        image_emb, text_emb = (torch.from_numpy(each).half().to(device) for each in (images, texts))
        return replace(self, teachers=TeacherVectors(image_emb, text_emb, found))

    def targets(self, images: Ints, rows: Ints) -> Tensor:
        """The teachers' scores, float32 [images, rows]."""
        assert self.teachers is not None
        device = self.teachers.images.device
        texts = torch.from_numpy(self.teachers.found[rows - self.first]).to(device)
        image_emb = self.teachers.images[torch.from_numpy(images).to(device)]
        return image_emb.float() @ self.teachers.texts[texts].float().T

    def matches(self, images: Ints, rows: Ints) -> Bools:
        """Which picture each caption fits, bool [images, rows]: its own, and every one that is described alike.

        Detectors know few words: many pictures are "person dog", and none of these is a wrong answer to it.
        """
        wordings, places = np.unique(self.wordings[rows - self.first], return_inverse=True)
        own = images[:, None] == self.groups[rows - self.first]
        said = np.zeros((len(images), len(wordings)), bool)
        image, row = np.nonzero(own)
        said[image, places[row]] = True
        return said[:, places]


class WithPseudo:
    """The batches of another sampler, each with the captions of `pictures` pictures without annotation behind it."""

    def __init__(self, sampler: Sampler, captions: PseudoCaptions, langs: Ints, pictures: int) -> None:
        self._sampler = sampler
        order = np.lexsort((langs, captions.groups))
        self._rows = captions.first + order
        self._langs = langs[order]
        self._one = captions.teachers is not None
        _, starts, counts = np.unique(captions.groups[order], return_index=True, return_counts=True)
        self._starts, self._counts = starts, counts
        self._pictures = min(pictures, len(starts))

    def batch_count(self) -> int:
        """Number of batches of an epoch."""
        return self._sampler.batch_count()

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch; every picture comes equally often, but for one time."""
        generator = np.random.default_rng([seed, epoch, 1])
        batches = self._sampler.epoch(seed, epoch)
        needed, there = len(batches) * self._pictures, len(self._starts)
        order = np.concatenate([generator.permutation(there) for _ in range(-(-needed // there))])
        return [
            np.concatenate([batch, self._captions(order[place : place + self._pictures], generator)])
            for batch, place in zip(batches, range(0, needed, self._pictures), strict=True)
        ]

    def _captions(self, pictures: Ints, generator: np.random.Generator) -> Ints:
        """All captions of pictures, or one of each; those of one language together.

        A picture that comes twice counts once.
        """
        pictures = np.unique(pictures)
        counts = self._counts[pictures]
        if self._one:
            places = self._starts[pictures] + generator.integers(counts)
        else:
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            places = np.repeat(self._starts[pictures], counts) + within
        rows: Ints = self._rows[places[np.argsort(self._langs[places], kind="stable")]]
        return rows
