"""The sentences people translated, as a translator: what a perfect one would give on a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from lingvis.errors import UserError


class HasParallel(Protocol):
    """A row of a dataset with sentences by language that are translations of one another."""

    @property
    def parallel(self) -> Mapping[str, str]: ...


class ParallelTranslator:
    """Looks sentences up; one that is not among the parallel sentences is an error, never left as it is.

    by_sentence: (language, sentence) -> its translations by language.
    """

    def __init__(self, by_sentence: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        self._by_sentence = by_sentence

    @classmethod
    def from_rows(cls, rows: Iterable[HasParallel]) -> ParallelTranslator:
        """Of rows that share a sentence the first counts: a translator does not see the picture.

        It lends its translations per language, so a later row may add a language the first one lacks.
        """
        by_sentence: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:
            for lang, sentence in row.parallel.items():
                known = by_sentence.setdefault((lang, sentence), {})
                for other, translation in row.parallel.items():
                    known.setdefault(other, translation)
        return cls(by_sentence)

    def __call__(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        return [self._translate(text, source, target) for text in texts]

    def _translate(self, text: str, source: str, target: str) -> str:
        translations = self._by_sentence.get((source, text))
        if translations is None:
            raise UserError(
                f"{text!r} is not a parallel sentence in {source}; translate only sentences of the dataset"
            )
        if target not in translations:
            raise UserError(
                f"{text!r} has no parallel sentence in {target}, only in: {', '.join(sorted(translations))}"
            )
        return translations[target]
