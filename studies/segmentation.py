"""The data of lingvis.text.segmentation, from the ICU inside the package icu4py.

Reads the compiled rules of word boundaries, the scripts of characters, and the dictionary for Chinese and Japanese, and
writes the two files that lingvis reads instead of ICU. Words change with them, and trained models know words: compare
both versions on captions before you ship the data of another ICU.

python -m studies segmentation           write the files
"""

from __future__ import annotations

import ctypes
import json
import string
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import icu4py

from lingvis.text.segmentation import dictionary, rules
from studies.arguments import make_parser

CODES = range(0x110000)
# Numbers of scripts in ICU: Han, Hiragana, Katakana; and those with a dictionary of their own: Khmer, Lao, Burmese, Thai.
CHINESE_JAPANESE, OTHER = {17, 20, 22}, {23, 24, 28, 38}
MARKS = {0x30FC, 0xFF70}  # of no script, but ICU's engine for Chinese and Japanese takes them
EIGHT_BITS = 4  # flag of a state table


class IcuData:
    """The data and the functions of the ICU that icu4py brings."""

    def __init__(self) -> None:
        folder = Path(icu4py.__file__).parents[1] / "icu4py.libs"
        self.version = str(icu4py.icu_version)
        self._bytes = next(folder.glob("libicudata*")).read_bytes()
        self._functions = ctypes.CDLL(str(next(folder.glob("libicuuc*"))))
        package = self._bytes.index(b"CmnD") - 12
        (size,) = struct.unpack_from("<H", self._bytes, package)
        self._contents = package + size
        self._script = self.function("uscript_getScript", ctypes.c_int, ctypes.c_void_p)

    def file(self, ending: str) -> bytes:
        """A data file without its header (up to the end of all data), by the end of its name."""
        (count,) = struct.unpack_from("<I", self._bytes, self._contents)
        for entry in range(count):
            name, data = struct.unpack_from("<2I", self._bytes, self._contents + 4 + 8 * entry)
            begin = self._contents + name
            if self._bytes[begin : self._bytes.index(b"\0", begin)].decode().endswith(ending):
                (header,) = struct.unpack_from("<H", self._bytes, self._contents + data)
                return self._bytes[self._contents + data + header :]
        raise FileNotFoundError(ending)

    def function(self, name: str, *arguments: type, result: type = ctypes.c_int) -> ctypes._NamedFuncPointer:
        """A C function of ICU."""
        found: ctypes._NamedFuncPointer = getattr(self._functions, f"{name}_{self.version.split('.')[0]}")
        found.argtypes, found.restype = arguments, result
        return found

    def script(self, code: int) -> int:
        """The number of the script of a character."""
        number: int = self._script(code, ctypes.byref(ctypes.c_int(0)))
        return number

    def columns(self, trie: bytes) -> list[int]:
        """The column of the state table that every character reads."""
        types: tuple[type, ...] = (ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        opened = self.function(
            "ucptrie_openFromBinary", ctypes.c_int, ctypes.c_int, *types, result=ctypes.c_void_p
        )
        error = ctypes.c_int(0)
        handle = opened(-1, -1, trie, len(trie), None, ctypes.byref(error))
        types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint32)
        end_of_range = self.function(
            "ucptrie_getRange", *types, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        column = ctypes.c_uint32()
        found: list[int] = []
        while len(found) < len(CODES):
            last = end_of_range(handle, len(found), 0, 0, None, None, ctypes.byref(column))
            found += [column.value] * (last + 1 - len(found))
        return found


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


def read_words(units: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Words and costs of a trie of UTF-16 units, in the format of ICU's UCharsTrie."""

    def number(lead: int, at: int, bounds: tuple[int, int]) -> tuple[int, int]:
        """A number of up to three units whose first is `lead`, and the position after it."""
        small, middle = bounds
        if lead < small:
            return lead, at
        if lead < middle:
            return (lead - small) << 16 | units[at], at + 1
        return units[at] << 16 | units[at + 1], at + 2

    def node(at: int, word: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        lead, at = units[at], at + 1
        if lead >= 0x8000:
            yield word, number(lead & 0x7FFF, at, (0x4000, 0x7FFF))[0]
            return
        if lead >= 0x40:  # a word that longer ones continue; no cost needs more than one unit
            yield word, (lead >> 6) - 1
            lead &= 0x3F
        if lead >= 0x30:
            size = lead - 0x30 + 1
            yield from node(at + size, (*word, *units[at : at + size]))
        elif lead:
            yield from branch(at, lead + 1, word)
        else:
            yield from branch(at + 1, units[at] + 1, word)

    def branch(at: int, size: int, word: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
        while size > 5:  # a unit to compare with, and the distance of the smaller ones
            distance, at = number(units[at + 1], at + 2, (0xFC00, 0xFFFF))
            yield from branch(at + distance, size // 2, word)
            size -= size // 2
        for _ in range(size - 1):
            unit, lead = units[at], units[at + 1]
            value, at = number(lead & 0x7FFF, at + 2, (0x4000, 0x7FFF))
            if lead >= 0x8000:
                yield (*word, unit), value
            else:
                yield from node(at + value, (*word, unit))
        yield from node(at + 1, (*word, units[at]))

    return node(0, ())


def make_dictionary(icu: IcuData) -> str:
    """The content of dictionary.txt."""
    stored = icu.file("brkitr/cjdict.dict")
    begin, _, _, end = struct.unpack_from("<4i", stored, 0)
    by_first: dict[str, dict[int, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for units, cost in read_words(memoryview(stored[begin:end]).cast("H")):
        word = struct.pack(f"<{len(units)}H", *units).decode("utf-16-le")
        by_first[word[0]][len(word)].append((word[1:], cost))
    lines = []
    for first, by_size in sorted(by_first.items()):
        fields = [first]
        for _, entries in sorted(by_size.items()):
            fields += ["".join(rest for rest, _ in entries), "".join(chr(cost) for _, cost in entries)]
        lines.append("\t".join(fields))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both files."""
    make_parser("segmentation", __doc__).parse_args(arguments)
    icu = IcuData()
    rules.FILE.write_text(json.dumps(make_rules(icu), separators=(",", ":")) + "\n", encoding="utf-8")
    dictionary.FILE.write_bytes(make_dictionary(icu).encode(dictionary.ENCODING))
    print(f"{rules.FILE} and {dictionary.FILE}, from ICU {icu.version}")
