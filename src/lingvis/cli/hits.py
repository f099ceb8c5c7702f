"""The words of a search on the command line, and its hits as lines."""

from __future__ import annotations

import locale
from collections.abc import Sequence

from lingvis.collection.moments import shown_path
from lingvis.collection.query.report import SentenceReport
from lingvis.collection.stores.records import Hit
from lingvis.printing import print_line
from lingvis.progress import note

DIVIDERS = {
    "likely": "the following pictures are less certain",
    "weak": "the following pictures probably do not fit",
}


def as_sentences(words: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences of a query: words without quotes are one, quoted sentences are several."""
    quoted = any(any(map(str.isspace, word.strip())) for word in words)
    return tuple(words) if quoted or not words else (" ".join(words),)


def locale_languages() -> list[str]:
    """Return the language of the user's locale, if it names one."""
    name = locale.setlocale(locale.LC_CTYPE, None).partition("_")[0]
    return [name] if name.isalpha() and name != "C" else []


def warn(reports: Sequence[SentenceReport]) -> None:
    """Print a note for each sentence with words that the model does not know."""
    for report in reports:
        if report.warning is not None:
            note(report.warning)


def print_hits(hits: Sequence[Hit]) -> None:
    """Print a line per hit; if the model is calibrated, with its confidence and a divider before less certain ones."""
    shown = "strong"
    for hit in hits:
        if hit.confidence is not None and hit.confidence != shown:
            shown = hit.confidence
            print_line(f"----  {DIVIDERS[shown]}")
        confidence = f"{hit.confidence:6}  " if hit.confidence is not None else ""
        print_line(f"{hit.rank:4}  {hit.score:.4f}  {confidence}{shown_path(hit.info)}")
    if not hits:
        print_line("nothing found", stderr=True)
