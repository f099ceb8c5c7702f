"""A text -> its pieces between word boundaries: words, spaces, punctuation.

They are the pieces of ICU but for one case: where one of the signs 〱〲〳〴〵゠ stands before a ー that begins a run,
ICU may join this ー to the next word.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from lingvis.errors import UserError
from lingvis.text.segmentation.dictionary import cuts
from lingvis.text.segmentation.rules import rules, spans


def pieces(text: str, lang: str) -> Iterator[str]:
    """The pieces of a text in their order; joined they are the text."""
    kinds = text.translate(rules().kinds)
    present = set(kinds)
    if not present.isdisjoint(rules().icu):
        return _by_icu(text, lang)
    if not present.isdisjoint(rules().dictionary):
        return _by_dictionary(text, kinds)
    return (text[begin:end] for begin, end in spans(kinds))


def _by_dictionary(text: str, kinds: str) -> Iterator[str]:
    """Pieces by the rules, each divided where it has runs of Chinese and Japanese characters."""
    for begin, end in spans(kinds):
        for run in _runs().finditer(kinds, begin, end):
            for cut in cuts(text[run.start() : run.end()]):
                yield text[begin : run.start() + cut]
                begin = run.start() + cut
        yield text[begin:end]


@functools.cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{rules().dictionary}]+")


def _by_icu(text: str, lang: str) -> Iterator[str]:
    """Pieces by ICU itself, which has dictionaries for some more scripts."""
    try:
        from icu4py.breakers import WordBreaker
    except ModuleNotFoundError as error:
        raise UserError(
            f"{text[:40]!r} has Thai, Lao, Khmer or Burmese letters, whose words only the package icu4py finds; "
            "run: pip install 'lingvis[icu]'"
        ) from error
    return iter(WordBreaker(text, lang))
