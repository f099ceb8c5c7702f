"""Which captions make up which batch: a function of the seed and the epoch, so that a resumed run sees the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lingvis.bounds import Count, Positive, Share
from lingvis.registry import Registry

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CaptionTable:
    """What a sampler knows of the captions.

    groups: the picture each one is about; numbers from `images` on are pictures that are not there (text only).
    langs: language numbers. lengths: in tokens.
    """

    groups: Ints
    langs: Ints
    lengths: Ints
    images: int


class Sampler(Protocol):
    """Batches of captions by number, those of one language together."""

    def batch_count(self) -> int:
        """Number of batches of an epoch."""
        ...

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        ...


SAMPLERS: Registry[type[Sampler]] = Registry("sampling")


@SAMPLERS.register("captions", "batches of captions, whatever their pictures; every caption once an epoch")
class CaptionSampler:
    """`batch_size` captions a batch; captions of like length meet when `bucket` is above 1.

    Shuffled captions are cut into stretches of `bucket` batches, each stretch is sorted by length, and the
    batches are shuffled again. No caption is left out: a remainder of one joins the batch before it, since a
    batch of one has no negatives. temperature above 1 gives languages with few captions more than their share:
    a language of n captions is drawn with probability proportional to n^(1/temperature), and a pass has as
    many captions as the dataset. least_steps: an epoch has at least so many batches; few captions are passed
    over again until it has, so that it is worth a validation.
    """

    def __init__(
        self,
        *,
        captions: CaptionTable,
        batch_size: Count,
        bucket: Count = 1,
        temperature: Positive = 1.0,
        least_steps: Count = 1,
    ) -> None:
        self._table, self._batch_size, self._bucket = captions, batch_size, bucket
        self._shown = np.flatnonzero(captions.groups < captions.images)
        self._weights = _shares(captions.langs[self._shown], temperature) if temperature != 1 else None
        count = len(self._shown)
        self._batches = max(1, count // batch_size + (count % batch_size > 1))
        self._passes = -(-least_steps // self._batches)

    def batch_count(self) -> int:
        """Number of batches of an epoch."""
        return self._passes * self._batches

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        generator = np.random.default_rng([seed, epoch])
        return [batch for _ in range(self._passes) for batch in self._pass(generator)]

    def _pass(self, generator: np.random.Generator) -> list[Ints]:
        """Every caption once."""
        if self._weights is None:
            order = self._shown[generator.permutation(len(self._shown))]
        else:
            order = generator.choice(self._shown, len(self._shown), p=self._weights)
        size, lengths = self._batch_size, self._table.lengths
        if self._bucket > 1:
            stretches = np.split(order, range(size * self._bucket, len(order), size * self._bucket))
            order = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in stretches])
        batches = np.split(order, [size * n for n in range(1, self._batches)])
        return [_by_language(batches[n], self._table.langs) for n in generator.permutation(len(batches))]


@SAMPLERS.register("images", "batches of pictures, with captions in several languages for each")
class ImageSampler:
    """`batch_size` pictures a batch; of each, up to `per_language` captions in each of `languages` languages.

    languages: how many to draw for a picture, 0 for all it has; together: one draw for the whole batch, among
    the languages of its pictures, and those without a caption in any of them are left out; temperature: as
    above, for that draw. An epoch is `passes` passes over the pictures; the last batch of a pass is filled up
    with pictures of those before it. text_only: pictures that are not there, as a share of the batch, whose
    sentences join for the terms between sentences.

    Captions are filled up to a round number, so that batches have few different sizes: with further ones of the
    same pictures and languages, and with repetitions where there are no others.
    """

    ROUND = 64

    def __init__(
        self,
        *,
        captions: CaptionTable,
        batch_size: Count,
        per_language: Count = 1,
        languages: Annotated[int, Field(ge=0)] = 0,
        together: bool = False,
        temperature: Positive = 1.0,
        passes: Count = 1,
        text_only: Share = 0.0,
    ) -> None:
        self._table, self._batch_size, self._passes = captions, batch_size, passes
        self._per_language, self._languages, self._together = per_language, languages, together
        self._cells = _Cells(captions)
        self._images = np.unique(captions.groups[captions.groups < captions.images])
        self._texts = np.unique(captions.groups[captions.groups >= captions.images])
        self._extra = min(round(text_only * batch_size), len(self._texts))
        shown = captions.langs[captions.groups < captions.images]
        counts = np.bincount(shown, minlength=self._cells.count.shape[1])
        self._favour = np.log(counts.clip(min=1)) / temperature

    def batch_count(self) -> int:
        """Number of batches of an epoch."""
        return self._passes * max(1, -(-len(self._images) // self._batch_size))

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        generator = np.random.default_rng([seed, epoch])
        return [
            self._draw(generator, images) for _ in range(self._passes) for images in self._pass(generator)
        ]

    def _pass(self, generator: np.random.Generator) -> list[Ints]:
        size = min(self._batch_size, len(self._images))
        order = generator.permutation(self._images)
        earlier = order[: len(order) // size * size]  # a batch has no picture twice
        order = np.concatenate([order, generator.permutation(earlier)[: -len(order) % size]])
        return np.split(order, len(order) // size)

    def _draw(self, generator: np.random.Generator, groups: Ints) -> Ints:
        """Captions of these pictures, and of some that are not there."""
        if self._extra:
            groups = np.concatenate([groups, generator.choice(self._texts, self._extra, replace=False)])
        there = self._cells.count[groups] > 0
        if self._languages:
            # Sentences alone do not take part in a common draw: a batch without a picture teaches nothing.
            shown = there[groups < self._table.images]
            among = np.atleast_2d(shown.any(axis=0)) if self._together else there
            there &= self._draw_languages(generator, among)
        rows, others = self._cells.draw(generator, groups, there, self._per_language)
        missing = -len(rows) % self.ROUND
        further = generator.permutation(others)[:missing]
        again = generator.choice(rows, missing - len(further))
        return _by_language(np.concatenate([rows, further, again]), self._table.langs)

    def _draw_languages(self, generator: np.random.Generator, among: Bools) -> Bools:
        """Up to `languages` of each row's languages, drawn without replacement by their weights."""
        keys = np.where(among, self._favour + generator.gumbel(size=among.shape), -np.inf)
        chosen = np.zeros_like(among)
        np.put_along_axis(chosen, np.argsort(-keys, axis=1)[:, : self._languages], True, axis=1)
        return chosen & among


class _Cells:
    """The captions of every picture in every language."""

    def __init__(self, captions: CaptionTable) -> None:
        groups, langs = captions.groups, captions.langs
        shape = (int(groups.max()) + 1, int(langs.max()) + 1)
        self._order = np.lexsort((langs, groups))
        self.count = np.zeros(shape, np.int64)
        np.add.at(self.count, (groups, langs), 1)
        flat = self.count.ravel()
        self._first = (np.cumsum(flat) - flat).reshape(shape)

    def draw(
        self, generator: np.random.Generator, groups: Ints, there: Bools, most: int
    ) -> tuple[Ints, Ints]:
        """Up to `most` different captions of each cell that is there, and the others of those cells."""
        count = np.where(there, self.count[groups], 0)
        keys = generator.random((*count.shape, max(1, int(count.max()))))
        keys[np.arange(keys.shape[-1]) >= count[..., None]] = np.inf
        order = np.argsort(keys, axis=-1)
        valid = np.take_along_axis(keys, order, axis=-1) < np.inf
        places = self._first[groups][..., None] + order
        early = np.arange(keys.shape[-1]) < most
        return self._order[places[valid & early]], self._order[places[valid & ~early]]


def _by_language(rows: Ints, langs: Ints) -> Ints:
    """The captions of each language together, so that parts with one layer a language take them in one piece."""
    return rows[np.argsort(langs[rows], kind="stable")]


def _shares(langs: Ints, temperature: float) -> NDArray[np.float64]:
    """The probability of each caption when a language of n captions weighs n^(1/temperature)."""
    counts = np.bincount(langs).astype(np.float64)
    weights = (counts.clip(min=1) ** (1 / temperature - 1))[langs]
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
