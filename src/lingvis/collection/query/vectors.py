"""An encoded query: one vector for all its languages together, or one per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lingvis.arrays import Floats

# Share of the cosine with a term to leave out that is subtracted. Tried on 318 photographs with ten pairs such as
# "street" without "car": 0.3 left pictures of cars among the first five, and with 1 "fruit" without "apple" found forests.
WITHOUT_SHARE = 0.5


@dataclass(frozen=True)
class QueryVectors:
    """The vectors of sentences, a picture, or both.

    sentences: per sentence the vectors [dim] by language, the original first, then translations; weight: share of
    the sentences if there is also a picture; without: like sentences, the terms to leave out.
    """

    sentences: Sequence[Mapping[str, Floats]]
    picture: Floats | None = None
    weight: float = 0.5
    without: Sequence[Mapping[str, Floats]] = ()

    @cached_property
    def together(self) -> Floats:
        """One vector of unit length, float32 [dim]; each sentence is the mean of its languages (CLC-A)."""
        return _unit(self._difference)

    @cached_property
    def scale(self) -> float:
        """The factor from a cosine with `together` to the score.

        The score is the cosine with the query, minus WITHOUT_SHARE of the cosine with each term to leave out.
        """
        return float(np.linalg.norm(self._difference)) if self.without else 1.0

    @cached_property
    def _difference(self) -> Floats:
        wanted = self._joined([_mean(sentence) for sentence in self.sentences])
        if not self.without:
            return wanted
        return wanted - WITHOUT_SHARE * np.sum([_unit(_mean(term)) for term in self.without], axis=0)  # type: ignore[no-any-return]

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
