"""The data of lingvis.text.segmentation, from the ICU inside the package icu4py.

Reads the compiled rules of word boundaries, the scripts of characters, and the dictionary for Chinese and Japanese, and
writes the two files that lingvis reads instead of ICU. Words change with them, and trained models know words: compare
both versions on captions before you ship the data of another ICU.

python -m studies segmentation           write the files
"""

from __future__ import annotations

import json
import string
import struct
from collections import defaultdict
from collections.abc import Sequence

from lingvis.text.segmentation import dictionary, rules
from studies.arguments import make_parser
from studies.segmentation.icu_data import CODES, IcuData, read_words

# Numbers of scripts in ICU: Han, Hiragana, Katakana; and those with a dictionary of their own: Khmer, Lao, Burmese, Thai.
CHINESE_JAPANESE, OTHER = {17, 20, 22}, {23, 24, 28, 38}
MARKS = {0x30FC, 0xFF70}  # of no script, but ICU's engine for Chinese and Japanese takes them
EIGHT_BITS = 4  # flag of a state table


def make_rules(icu: IcuData) -> dict[str, object]:
    """The content of rules.json: the state table, and runs of characters of one kind."""
    stored = icu.file("brkitr/word.brk")
    table, _, _, _, trie, trie_size = struct.unpack_from("<6I", stored, 16)
    states, row_size, first_of_dictionary, _, flags = struct.unpack_from("<5I", stored, table)
    assert flags == EIGHT_BITS, "rules with look-ahead or a state for the beginning of the text"
    rows = [stored[table + 20 + state * row_size :][:row_size] for state in range(states)]
    targets = [bytes(column) for column in zip(*(row[3:] for row in rows), strict=True)]
    columns = icu.columns(stored[trie : trie + trie_size])

    letters: dict[tuple[str, bytes], str] = {}  # of each kind: who divides it, and the column
    unused = iter(string.ascii_letters)
    starts: list[int] = []
    kinds = ""
    for code in CODES:
        by = _divider(code, icu.script(code)) if columns[code] >= first_of_dictionary else ""
        kind = (by, targets[columns[code]])
        letter = letters[kind] if kind in letters else letters.setdefault(kind, next(unused))
        if not kinds or kinds[-1] != letter:
            starts.append(code)
            kinds += letter
    return {
        "version": icu.version,
        "starts": starts,
        "kinds": kinds,
        "columns": "".join(letters.values()),
        "after": [[column[state] for _, column in letters] for state in range(states)],
        "accepting": [state for state in range(states) if rows[state][0]],
        "dictionary": "".join(letter for (by, _), letter in letters.items() if by == "dictionary"),
        "icu": "".join(letter for (by, _), letter in letters.items() if by == "icu"),
    }


def _divider(code: int, script: int) -> str:
    """The field of `rules.Rules` for a character that ICU's rules leave to dictionaries; most scripts have none."""
    if script in CHINESE_JAPANESE or code in MARKS:
        return "dictionary"
    return "icu" if script in OTHER else ""


def make_dictionary(icu: IcuData) -> bytes:
    """The content of dictionary.bin."""
    stored = icu.file("brkitr/cjdict.dict")
    begin, _, _, end = struct.unpack_from("<4i", stored, 0)
    by_first: dict[str, dict[int, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for units, cost in read_words(memoryview(stored[begin:end]).cast("H")):
        word = struct.pack(f"<{len(units)}H", *units).decode("utf-16-le")
        by_first[word[0]][len(word)].append((word[1:], cost))
    lines = []
    for _, by_size in sorted(by_first.items()):
        line = ""
        for _, entries in sorted(by_size.items()):
            costs = "".join(chr(cost) for _, cost in entries)
            line += "\t" + "".join(rest for rest, _ in entries) + "\t" + costs
        lines.append(line)
    head = [len(lines), *map(ord, sorted(by_first)), *map(len, lines)]
    return struct.pack(f"<{len(head)}H", *head) + "".join(lines).encode(dictionary.ENCODING)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both files."""
    make_parser("segmentation", __doc__).parse_args(arguments)
    icu = IcuData()
    rules.FILE.write_text(json.dumps(make_rules(icu), separators=(",", ":")) + "\n", encoding="utf-8")
    dictionary.FILE.write_bytes(make_dictionary(icu))
    print(f"{rules.FILE} and {dictionary.FILE}, from ICU {icu.version}")
