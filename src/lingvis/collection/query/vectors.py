"""An encoded query: one vector for all its languages together, or one per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lingvis.arrays import Floats


@dataclass(frozen=True)
class QueryVectors:
    """The vectors of sentences, a picture, or both.

    sentences: per sentence the vectors [dim] by language, the original first, then translations; weight: share of
    the sentences if there is also a picture.
    """

    sentences: Sequence[Mapping[str, Floats]]
    picture: Floats | None = None
    weight: float = 0.5

    @cached_property
    def together(self) -> Floats:
        """One vector of unit length, float32 [dim]; each sentence is the mean of its languages (CLC-A)."""
        return self._joined([_mean(sentence) for sentence in self.sentences])

    def by_language(self, languages: Sequence[str]) -> dict[str, Floats]:
        """Return one vector of unit length per language that occurs in a sentence.

        A sentence without a language is represented there by its mean; a picture counts equally in all languages.
        """
        return {
            lang: self._joined(
                [sentence[lang] if lang in sentence else _mean(sentence) for sentence in self.sentences]
            )
            for lang in languages
            if any(lang in sentence for sentence in self.sentences)
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
