"""Chinese and Japanese text -> words, by the costs of ICU's dictionary.

`dictionary.bin` consists of 16-bit numbers, so that a line is found without reading the others: the number of lines,
the first character of the words of each line, the length of each line, and the lines in UTF-16. A line has for each
length of words a tab, the rests of all these words after the first character, without separators, a tab and their
costs as characters. `python -m studies segmentation` makes it.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("dictionary.bin")
ENCODING = "utf-16-le"
UNKNOWN = 255  # the cost of a character that is no word
NEVER = 1 << 32
KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30fe]+")
# Costs of a whole run of Katakana by its length, the first for longer ones; from LONGEST characters on it is no word.
KATAKANA_COSTS = (8192, 984, 408, 240, 204, 252, 300, 372, 480)
LONGEST = 20


class Stored(NamedTuple):
    """The content of the file: line `i` of the words that begin with `firsts[i]` is `units[starts[i]:starts[i + 1]]`."""

    units: memoryview
    firsts: memoryview
    starts: list[int]


@functools.cache
def stored() -> Stored:
    """The shipped dictionary."""
    units = memoryview(FILE.read_bytes()).cast("H")
    body = 1 + 2 * units[0]
    return Stored(units, units[1 : 1 + units[0]], list(accumulate(units[1 + units[0] : body], initial=body)))


def line(first: str) -> str:
    """The words that begin with a character as they are stored, nothing if there are none."""
    units, firsts, starts = stored()
    at = bisect_left(firsts, ord(first))
    if at == len(firsts) or firsts[at] != ord(first):
        return ""
    return units[starts[at] : starts[at + 1]].tobytes().decode(ENCODING)


@functools.lru_cache(maxsize=4096)
def entries(first: str) -> tuple[dict[str, int], dict[str, int]]:
    """Words that begin with a character: costs by the rest after it, and for each next character the longest word."""
    costs, longest = {"": UNKNOWN}, {"": 1}
    fields = line(first).split("\t")[1:]
    for joined, values in zip(fields[::2], fields[1::2], strict=True):
        size = len(joined) // len(values)
        for at, value in enumerate(values):
            rest = joined[at * size : (at + 1) * size]
            costs[rest] = ord(value)
            longest[rest[:1]] = size + 1
    return costs, longest


def cuts(run: str) -> list[int]:
    """Positions between the words of a run of Chinese and Japanese characters whose costs have the smallest sum."""
    length = len(run)
    best = [0] + [NEVER] * length  # the cost of the words before each position
    begin = [0] * (length + 1)  # of the last of these words
    katakana = {match.start(): match.end() for match in KATAKANA.finditer(run)}
    for at, first in enumerate(run):
        costs, longest = entries(first)
        before, second = best[at], at + 1
        for end in range(second, min(at + longest.get(run[second : second + 1], 1), length) + 1):
            cost = before + costs.get(run[second:end], NEVER)
            if cost < best[end]:
                best[end], begin[end] = cost, at
        if at in katakana:
            end = katakana[at]
            cost = before + katakana_cost(end - at)
            if cost < best[end]:
                best[end], begin[end] = cost, at
    found = []
    at = begin[length]
    while at:
        found.append(at)
        at = begin[at]
    return found[::-1]


def katakana_cost(length: int) -> int:
    """The cost of a whole run of Katakana."""
    if length >= LONGEST:
        return NEVER
    return KATAKANA_COSTS[length] if length < len(KATAKANA_COSTS) else KATAKANA_COSTS[0]
