"""Sentences of any script -> words, by ICU's word boundaries (a dictionary serves Chinese, Japanese, Thai ...)."""

from __future__ import annotations

import unicodedata

from icu4py.breakers import WordBreaker


def normalised(text: str) -> str:
    """Text in the one spelling that words are compared in: lower case, NFKC.

    NFKC first, so that full-width and composed forms of one word are one word.
    """
    return unicodedata.normalize("NFKC", text).lower()


def words(text: str, lang: str) -> list[str]:
    """Normalised words of a sentence; spaces and punctuation are dropped."""
    return [piece for piece in WordBreaker(normalised(text), lang) if any(map(str.isalnum, piece))]
