"""All sentences of a run, with their origin as a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats, Ints
from lingvis.terms.base import Origin


@dataclass(frozen=True, slots=True)
class TeacherVectors:
    """Unit vectors whose inner product is the mean of the teachers' scores.

    images [pictures, dim]: of all pictures of the run; texts [candidates, dim]: of the sentences that teachers chose
    from; text_of int64 [pseudo captions]: which of these each pseudo caption is.
    """

    images: Floats
    texts: Floats
    text_of: Ints


@dataclass(frozen=True, slots=True)
class Sentences:
    """texts[n] is in langs[n], of origin[n], and about images[groups[n]].

    Text-only sentences have groups from len(images) on, equal for sentences that say the same.
    """

    images: list[str]
    texts: list[str]
    langs: list[str]
    groups: Ints
    origin: NDArray[np.int8]
    teachers: TeacherVectors | None = None

    def rows(self, *origins: Origin) -> Ints:
        """Numbers of the sentences of these origins."""
        return np.flatnonzero(np.isin(self.origin, origins))

    def plus(
        self,
        origin: Origin,
        texts: Sequence[str],
        langs: Sequence[str],
        groups: Sequence[int] | Ints,
        teachers: TeacherVectors | None = None,
    ) -> Sentences:
        """These sentences and more of one origin."""
        return Sentences(
            self.images,
            [*self.texts, *texts],
            [*self.langs, *langs],
            np.concatenate([self.groups, np.asarray(groups, np.int64)]),
            np.concatenate([self.origin, np.full(len(texts), origin, np.int8)]),
            teachers or self.teachers,
        )
