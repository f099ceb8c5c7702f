"""Batches of pictures, with captions in several languages for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from lingvis.arrays import Bools, Ints
from lingvis.bounds import Count, Positive, Share
from lingvis.errors import UserError
from lingvis.recipes.schema import Recipe
from lingvis.terms.base import AUTHORED, Origin
from lingvis.training.sampling.base import SAMPLERS, Sampler, SentenceTable, by_language


@SAMPLERS.register("images", "batches of pictures, with captions in several languages for each")
class ImageSampler(Sampler):
    """`batch_size` pictures per batch, each with up to `per_language` captions in each of `languages` languages.

    languages: how many to draw per picture, 0 for all; together: one draw for the whole batch, among the
    languages of its pictures, and pictures without a caption in the drawn languages are left out; temperature:
    of that draw, as in CaptionSampler. An epoch is `passes` passes over the pictures; the last batch of a pass is filled up
    with pictures of earlier batches. text_only: share of the batch for groups of text-only sentences, which take
    part in the terms between sentences.

    Captions are padded to a round number, so that batches have few different sizes: with more captions of the same
    pictures and languages, and with repetitions where there are no more.
    """

    ROUND = 64

    def __init__(
        self,
        *,
        captions: SentenceTable,
        batch_size: Count,
        per_language: Count = 1,
        languages: Annotated[int, Field(ge=0)] = 0,
        together: bool = False,
        temperature: Positive = 1.0,
        passes: Count = 1,
        text_only: Share = 0.0,
    ) -> None:
        self._table = captions
        self._batch_size = batch_size
        self._passes = passes
        self._per_language = per_language
        self._languages = languages
        self._together = together
        self._cells = SentenceCells(captions, captions.rows(*AUTHORED))
        described = captions.rows(Origin.HUMAN)
        self._images = np.unique(captions.groups[described])
        if not len(self._images):
            raise UserError(
                "training.sampling images draws training pictures, and none has a caption; set "
                "training.sampling.name = meanings, or add captions"
            )
        self._texts = np.unique(captions.groups[captions.rows(Origin.TEXT_ONLY)])
        self._extra = min(round(text_only * batch_size), len(self._texts))
        counts = np.bincount(captions.langs[described], minlength=self._cells.count.shape[1])
        self._favour = np.log(counts.clip(min=1)) / temperature

    @classmethod
    def problems(cls, recipe: Recipe) -> Iterator[str]:
        """Text-only sentences can be drawn only if data.text_only is true."""
        share = recipe.training.sampling.options.get("text_only")
        if share and not recipe.data.text_only:
            yield (
                f"training.sampling.text_only is {share}, but data.text_only is false; set data.text_only = true, or "
                "training.sampling.text_only = 0"
            )

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return self._passes * max(1, -(-len(self._images) // self._batch_size))

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        generator = np.random.default_rng([seed, epoch])
        return [
            self._draw(generator, images) for _ in range(self._passes) for images in self._pass(generator)
        ]

    def _pass(self, generator: np.random.Generator) -> list[Ints]:
        """Pictures of each batch, [batch_size]."""
        size = min(self._batch_size, len(self._images))
        order = generator.permutation(self._images)
        earlier = order[: len(order) // size * size]  # a batch has no picture twice
        order = np.concatenate([order, generator.permutation(earlier)[: -len(order) % size]])
        return np.split(order, len(order) // size)

    def _draw(self, generator: np.random.Generator, groups: Ints) -> Ints:
        """Captions of pictures [groups], and some text-only sentences."""
        described = len(groups)
        if self._extra:
            groups = np.concatenate([groups, generator.choice(self._texts, self._extra, replace=False)])
        has_caption = self._cells.count[groups] > 0  # [groups, languages]
        if self._languages:
            # Text-only sentences take no part in a common draw: a batch without a picture teaches nothing.
            among = np.atleast_2d(has_caption[:described].any(axis=0)) if self._together else has_caption
            has_caption &= self._draw_languages(generator, among)
        rows, others = self._cells.draw(generator, groups, has_caption, self._per_language)
        missing = -len(rows) % self.ROUND
        further = generator.permutation(others)[:missing]
        again = generator.choice(rows, missing - len(further))
        return by_language(np.concatenate([rows, further, again]), self._table.langs)

    def _draw_languages(self, generator: np.random.Generator, among: Bools) -> Bools:
        """Draw up to `languages` of each row's languages [rows, languages], without replacement, by weight."""
        keys = np.where(among, self._favour + generator.gumbel(size=among.shape), -np.inf)
        chosen = np.zeros_like(among)
        np.put_along_axis(chosen, np.argsort(-keys, axis=1)[:, : self._languages], True, axis=1)
        return chosen & among


class SentenceCells:
    """Some sentences by picture and language; count [groups, languages]."""

    def __init__(self, table: SentenceTable, rows: Ints) -> None:
        groups, langs = table.groups[rows], table.langs[rows]
        shape = (int(groups.max()) + 1, int(langs.max()) + 1)
        self._order = rows[np.lexsort((langs, groups))]
        self.count = np.zeros(shape, np.int64)
        np.add.at(self.count, (groups, langs), 1)
        flat = self.count.ravel()
        self._first = (np.cumsum(flat) - flat).reshape(shape)

    def draw(
        self, generator: np.random.Generator, groups: Ints, chosen: Bools, most: int
    ) -> tuple[Ints, Ints]:
        """Up to `most` different sentences of each chosen cell [groups, languages], and the other sentences of the cells."""
        count = np.where(chosen, self.count[groups], 0)
        keys = generator.random((*count.shape, max(1, int(count.max()))))  # [groups, languages, sentences]
        keys[np.arange(keys.shape[-1]) >= count[..., None]] = np.inf
        order = np.argsort(keys, axis=-1)
        valid = np.take_along_axis(keys, order, axis=-1) < np.inf
        places = self._first[groups][..., None] + order
        early = np.arange(keys.shape[-1]) < most
        return self._order[places[valid & early]], self._order[places[valid & ~early]]
