"""Chinese and Japanese text -> words, by the costs of ICU's dictionary.

`dictionary.txt` has a line per first character of words, in UTF-16: the character, then for each length a tab, the
rests of all words of this length without separators, a tab and their costs as characters. `python -m studies
segmentation` makes it.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

FILE = Path(__file__).with_name("dictionary.txt")
ENCODING = "utf-16-le"
UNKNOWN = 255  # the cost of a character that is no word
NEVER = 1 << 32
KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30fe]+")
# Costs of a whole run of Katakana by its length, the first for longer ones; from LONGEST characters on it is no word.
KATAKANA_COSTS = (8192, 984, 408, 240, 204, 252, 300, 372, 480)
LONGEST = 20


@functools.cache
def lines() -> dict[str, str]:
    """First character of words -> its line of the dictionary."""
    return {line[0]: line for line in FILE.read_bytes().decode(ENCODING).split("\n")}


@functools.lru_cache(maxsize=4096)
def entries(first: str) -> tuple[dict[str, int], dict[str, int]]:
    """Words that begin with a character: costs by the rest after it, and for each next character the longest word."""
    costs, longest = {"": UNKNOWN}, {"": 1}
    fields = lines().get(first, first).split("\t")[1:]
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
