"""Sentences of any script -> words, by ICU's word boundaries (by dictionary for Chinese, Japanese, Thai ...)."""

from __future__ import annotations

import unicodedata

from lingvis.text.segmentation.pieces import pieces


def normalised(text: str) -> str:
    """Text in the form used to compare words: NFKC, then lower case.

    NFKC comes first, so that full-width and composed forms of a word become the same word.
    """
    return unicodedata.normalize("NFKC", text).lower()


def words(text: str, lang: str) -> list[str]:
    """Normalised words of a sentence; spaces and punctuation are dropped.

    Thai, Lao, Khmer and Burmese need the extra `icu`, no other script does.
    """
    return [piece for piece in pieces(normalised(text), lang) if any(map(str.isalnum, piece))]
