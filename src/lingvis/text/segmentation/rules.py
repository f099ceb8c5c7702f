"""Word boundaries of UAX #29 with ICU's changes, by the state table of ICU's rules.

`rules.json` holds that table, and the kind of every character: which of its columns a character reads, and which
dictionary divides it further. `python -m studies segmentation` makes it.
"""

from __future__ import annotations

import functools
import json
from bisect import bisect
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("rules.json")
FIRST = 1  # the state before the first character; in state 0 no rule goes on


class Kinds(dict[int, str]):
    """Code point -> a letter for its kind, found when first needed, since a text uses few of all characters."""

    def __init__(self, starts: list[int], letters: str) -> None:
        super().__init__()
        self.starts, self.letters = starts, letters

    def __missing__(self, code: int) -> str:
        letter = self.letters[bisect(self.starts, code) - 1]
        if code <= 0xFFFF:  # so that odd texts cannot fill the memory
            self[code] = letter
        return letter


class Rules(NamedTuple):
    """The state table: `after[state][kind]` is the next state; a boundary may follow an `accepting` state.

    The other fields are kinds of characters: those that a dictionary divides further, ours for Chinese and Japanese or
    one of ICU for other scripts.
    """

    kinds: Kinds
    after: list[dict[str, int]]
    accepting: list[bool]
    dictionary: str
    icu: str


@functools.cache
def rules() -> Rules:
    """The shipped rules."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return Rules(
        kinds=Kinds(stored["starts"], stored["kinds"]),
        after=[dict(zip(stored["columns"], row, strict=True)) for row in stored["after"]],
        accepting=[state in stored["accepting"] for state in range(len(stored["after"]))],
        dictionary=stored["dictionary"],
        icu=stored["icu"],
    )


def spans(kinds: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each piece of a text, given as the kinds of its characters: each the longest that a rule allows."""
    after, accepting = rules().after, rules().accepting
    at, length = 0, len(kinds)
    while at < length:
        begin, end, state = at, at + 1, FIRST
        while at < length and (state := after[state][kinds[at]]):
            at += 1
            if accepting[state]:
                end = at
        yield begin, end
        at = end
