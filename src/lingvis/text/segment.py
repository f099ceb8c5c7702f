"""Sentences of any script -> words, by ICU's word boundaries (by dictionary for Chinese, Japanese, Thai ...)."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from lingvis.text.segmentation.pieces import pieces

JOINER = "\u200d"  # the only character that may join a space to a word
CACHED = 32  # characters; longer parts of sentences hardly come again


def normalised(text: str) -> str:
    """Text in the form used to compare words: NFKC, then lower case.

    NFKC comes first, so that full-width and composed forms of a word become the same word.
    """
    return unicodedata.normalize("NFKC", text).lower()


def words(text: str, lang: str) -> list[str]:
    """Normalised words of a sentence; spaces and punctuation are dropped.

    Thai, Lao, Khmer and Burmese need the extra `icu`, no other script does.
    """
    text = normalised(text)
    found: list[str] = []
    for part in text.split(" ") if JOINER not in text else [text]:
        found += _words(part, lang) if len(part) <= CACHED else _words.__wrapped__(part, lang)
    return found


@lru_cache(maxsize=1 << 15)  # captions repeat most of their words
def _words(part: str, lang: str) -> tuple[str, ...]:
    return tuple([piece for piece in pieces(part, lang) if piece.isalnum() or any(map(str.isalnum, piece))])
