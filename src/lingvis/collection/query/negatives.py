"""Negative terms in a query: "dog -beach" means pictures of a dog, without a beach."""

from __future__ import annotations

import re
from collections.abc import Sequence

# The hyphen and its relatives that keyboards, phones and input methods write for a minus. No em dash: it opens an
# aside in Spanish and Russian.
MINUS = "-\u2010\u2011\u2013\u2212\ufe63\uff0d"
QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』", "＂": "＂"}
QUOTED = "|".join(f"{opening}([^{closing}]+)[{closing}]" for opening, closing in QUOTES.items())
# Quoted words stay as they are. A minus stands before a letter or a quotation, and after a space or at the start: "t-shirt",
# "well-known", "a man - a dog" and "-5 degrees" have none.
TERM = re.compile(rf"(?<!\S)[{MINUS}](?:(?:{QUOTED})|([^\W\d_]\S*))|(?:{QUOTED.replace('(', '(?:')})")
PUNCTUATION = ",.;:!?、。，；：！？،؛؟"


def split_negatives(text: str) -> tuple[str, list[str]]:
    """Return a sentence without its negative terms, and these terms."""
    terms: list[str] = []

    def collect(match: re.Match[str]) -> str:
        term = next((group for group in match.groups() if group), None)
        if term is None:  # quoted words without a minus
            return match[0]
        clean = term.strip().strip(PUNCTUATION).strip()
        if clean:
            terms.append(clean)
        return " "

    rest = TERM.sub(collect, text)
    return (" ".join(rest.split()) if terms else text), terms


def split_all(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sentences without their negative terms, and the terms of all of them."""
    parts = [split_negatives(text) for text in texts]
    return tuple(rest for rest, _ in parts if rest.strip()), tuple(
        term for _, terms in parts for term in terms
    )
