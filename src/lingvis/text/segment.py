"""Sentences of any script -> words, by ICU's word boundaries (a dictionary serves Chinese, Japanese, Thai ...)."""

from __future__ import annotations

import unicodedata

from icu4py.breakers import WordBreaker


def words(text: str, lang: str) -> list[str]:
    """Lower-cased words of a sentence; spaces and punctuation are dropped.

    NFKC first, so that full-width and composed forms of one word are one word.
    """
    normal = unicodedata.normalize("NFKC", text).lower()
    return [piece for piece in WordBreaker(normal, lang) if any(char.isalnum() for char in piece)]
