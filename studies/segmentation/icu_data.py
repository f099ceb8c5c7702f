"""Data files and C functions of the ICU inside the package icu4py."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import icu4py

CODES = range(0x110000)


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
