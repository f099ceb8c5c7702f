"""Chinese and Japanese text -> words, by the costs of ICU's dictionary.

`dictionary.txt.gz` has a line per first character of words, in UTF-16: the character, then for each length a tab, the
rests of all words of this length without separators, a tab and their costs as characters. `python -m studies
segmentation` makes it.
"""

from __future__ import annotations

import functools
import gzip
from pathlib import Path

FILE = Path(__file__).with_name("dictionary.txt.gz")
ENCODING = "utf-16-le"
UNKNOWN = 255  # the cost of a character that is no word
# Costs of a whole run of Katakana by its length; it is no candidate from LONGEST characters on.
KATAKANA = (8192, 984, 408, 240, 204, 252, 300, 372, 480)
LONGEST = 20


@functools.cache
def lines() -> dict[str, str]:
    """First character of words -> its line of the dictionary."""
    text = gzip.decompress(FILE.read_bytes()).decode(ENCODING)
    return {line[0]: line for line in text.split("\n")}


@functools.lru_cache(maxsize=4096)
def entries(first: str) -> list[tuple[int, dict[str, int]]]:
    """Words that begin with a character: for each length, the rests of the words after that character and their costs."""
    fields = lines().get(first, first)[1:].split("\t")[1:]
    found = []
    for joined, costs in zip(fields[::2], fields[1::2], strict=True):
        size = len(joined) // len(costs)
        rests = [joined[at * size : (at + 1) * size] for at in range(len(costs))]
        found.append((size + 1, dict(zip(rests, map(ord, costs), strict=True))))
    return found if found and found[0][0] == 1 else [(1, {"": UNKNOWN}), *found]


def is_katakana(character: str) -> bool:
    """Whether a character counts for runs of Katakana."""
    return "\u30a1" <= character <= "\u30fe" and character != "\u30fb"


def cuts(run: str) -> list[int]:
    """Positions between the words of a run of Chinese and Japanese characters whose costs have the smallest sum."""
    length = len(run)
    best: list[float] = [0, *[float("inf")] * length]  # cost of the characters before each position
    begin = [0] * (length + 1)  # of the last word before each position
    after_katakana = False
    for at, first in enumerate(run):
        candidates = []
        for size, costs in entries(first):
            if at + size > length:
                break
            cost = costs.get(run[at + 1 : at + size])
            if cost is not None:
                candidates.append((at + size, cost))
        katakana = is_katakana(first)
        if katakana and not after_katakana:
            end = next((end for end in range(at + 1, length) if not is_katakana(run[end])), length)
            if end - at < LONGEST:
                candidates.append((end, KATAKANA[end - at] if end - at < len(KATAKANA) else KATAKANA[0]))
        after_katakana = katakana
        for end, cost in candidates:
            if best[at] + cost < best[end]:
                best[end], begin[end] = best[at] + cost, at
    found = []
    at = begin[length]
    while at:
        found.append(at)
        at = begin[at]
    return found[::-1]
