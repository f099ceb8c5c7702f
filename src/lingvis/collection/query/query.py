"""A query: words, a picture, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lingvis.errors import UserError
from lingvis.features.pictures import DecodedPicture
from lingvis.text.translators.contract import Translator

QueryImage = str | Path | BinaryIO | DecodedPicture


@dataclass(frozen=True, slots=True)
class Query:
    """Sentences, a picture, or both.

    image: a path, a file that is open for reading, or a decoded picture; weight: share of the sentences if there is
    also a picture; lang: language of the sentences, None to detect it; translator: adds the sentences in the model's
    other languages.
    """

    texts: Sequence[str] = ()
    image: QueryImage | None = None
    weight: float = 0.5
    lang: str | None = None
    translator: Translator | None = None

    @property
    def has_words(self) -> bool:
        """Whether a sentence is more than spaces."""
        return any(text.strip() for text in self.texts)

    def check(self) -> None:
        """Raise for an empty query or an invalid weight."""
        if not 0 <= self.weight <= 1:
            raise UserError(
                f"weight must be between 0 (the picture alone) and 1 (the words alone), got {self.weight}"
            )
        if self.image is None and not self.has_words:
            raise UserError("there is nothing to search for; give words or a picture")


def as_texts(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one sentence, several or none as a tuple."""
    return (text,) if isinstance(text, str) else tuple(text or ())
