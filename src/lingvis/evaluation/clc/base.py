"""One score from the scores of a query and of its translations (CLC: SMALR, section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from lingvis.arrays import Bools, Floats
from lingvis.errors import UserError, choices

METHODS = ("mean", "learned")


class Consistency(Protocol):
    """Scores [languages, ...] in the order of `languages` -> scores [...]."""

    @property
    def languages(self) -> tuple[str, ...]: ...

    def __call__(self, scores: Floats) -> Floats: ...


def combine(consistency: Consistency, scores: Mapping[str, Floats]) -> Floats:
    """Scores by language, arrays of one shape -> one array; a language without scores gets the mean of the others."""
    unknown = [lang for lang in scores if lang not in consistency.languages]
    if unknown or not scores:
        raise UserError(
            f"got scores in {choices(unknown or scores)}; allowed are one or more of: {choices(consistency.languages)}"
        )
    rest = np.mean(list(scores.values()), axis=0)
    stack = [scores.get(lang, rest) for lang in consistency.languages]
    return consistency(np.stack(stack).astype(np.float32, copy=False))


def fill_missing(scores: Floats, present: Bools) -> None:
    """Fill in the scores of missing translations with the mean of the others, in place.

    scores: [languages, images, texts]; present: [languages, texts], with at least one language for each text.
    """
    if present.all():
        return
    total = np.einsum("lit,lt->it", scores, present.astype(np.float32))
    mean = total / present.sum(axis=0, dtype=np.float32)
    np.copyto(scores, mean, where=~present[:, None, :])
