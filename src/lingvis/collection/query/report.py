"""How a model understands a sentence of a query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentenceReport:
    """A sentence of a query, its language, and the words that the model does not know.

    detected: whether the language was detected, not given. unknown: words; empty if the model folder has no list of known
    words. understood: False if no word is known, or if the sentence is in a language that the model lacks.
    """

    text: str
    lang: str
    detected: bool
    unknown: tuple[str, ...] = ()
    understood: bool = True

    @property
    def warning(self) -> str | None:
        """One sentence about words that the model does not know; None if all are known."""
        if not self.understood:
            return f"the model does not know these words or their language: {self.text}"
        return f"unknown words: {', '.join(self.unknown)}" if self.unknown else None
