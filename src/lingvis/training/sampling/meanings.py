"""Batches of meanings, with sentences in several languages for each, whether they describe a picture or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from lingvis.arrays import Ints
from lingvis.bounds import Count
from lingvis.terms.base import AUTHORED, Origin
from lingvis.training.sampling.base import SAMPLERS, Sampler, SentenceTable
from lingvis.training.sampling.images import ImageSampler


@SAMPLERS.register(
    "meanings", "batches of pictures and text-only sentences alike, in several languages for each meaning"
)
class MeaningSampler(Sampler):
    """`batch_size` meanings per batch, each with one sentence in each of `languages` languages; 0: in all.

    The sentences of a picture have one meaning, and so have those of a row of text-only.jsonl. An epoch is `passes`
    passes over all meanings.
    """

    def __init__(
        self,
        *,
        captions: SentenceTable,
        batch_size: Count,
        languages: Annotated[int, Field(ge=0)] = 0,
        passes: Count = 1,
    ) -> None:
        origin = np.where(np.isin(captions.origin, AUTHORED), np.int8(Origin.HUMAN), captions.origin)
        self._images = ImageSampler(
            captions=replace(captions, origin=origin),
            batch_size=batch_size,
            languages=languages,
            passes=passes,
        )

    @classmethod
    def draws_text_only(cls, options: Mapping[str, Any]) -> bool:
        """Always."""
        return True

    def batch_count(self) -> int:
        """Number of batches per epoch."""
        return self._images.batch_count()

    def epoch(self, seed: int, epoch: int) -> list[Ints]:
        """The batches of an epoch."""
        return self._images.epoch(seed, epoch)
