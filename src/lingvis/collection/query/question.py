"""A question as vectors: all its languages at once, or each by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lingvis.collection.stores.contract import Floats
from lingvis.errors import UserError, choices


@dataclass(frozen=True)
class Question:
    """Sentences, a picture, or both.

    sentences: the vectors [dim] of each by language, that it was asked in first, then those of translations;
    weight: share of the words where there is a picture, too.
    """

    sentences: Sequence[Mapping[str, Floats]]
    picture: Floats | None = None
    weight: float = 0.5

    @cached_property
    def together(self) -> Floats:
        """One vector of unit length, float32 [dim]; each sentence is the mean of its languages (CLC-A)."""
        return self._joined([_mean(sentence) for sentence in self.sentences])

    def by_language(self, languages: Sequence[str]) -> dict[str, Floats]:
        """One vector of unit length for each of these languages that there are words in.

        Of several sentences, one that a language lacks counts there as its mean; a picture counts alike in all.
        """
        unknown = [lang for lang in (next(iter(each)) for each in self.sentences) if lang not in languages]
        if unknown:
            raise UserError(
                f"got a question in {choices(set(unknown))}, but --consistency learned was fitted for "
                f"{choices(languages)}; ask in one of these, or with --consistency mean"
            )
        if not self.sentences:
            raise UserError("--consistency learned compares languages, and there are no words; give some")
        return {
            lang: self._joined([each[lang] if lang in each else _mean(each) for each in self.sentences])
            for lang in languages
            if any(lang in each for each in self.sentences)
        }

    def _joined(self, sentences: Sequence[Floats]) -> Floats:
        parts = [_unit(np.mean(sentences, axis=0))] if sentences else []
        if self.picture is not None:
            parts.append(_unit(self.picture))
        return parts[0] if len(parts) == 1 else _unit(self.weight * parts[0] + (1 - self.weight) * parts[1])


def _mean(sentence: Mapping[str, Floats]) -> Floats:
    return np.mean(list(sentence.values()), axis=0)  # type: ignore[no-any-return]


def _unit(vector: Floats) -> Floats:
    unit: Floats = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
    return unit
