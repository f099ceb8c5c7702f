"""Word vectors in text files: one word and its numbers per line, as fastText (.vec) and word2vec write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.text.segment import normalised
from lingvis.text.vectors.table import WordTable
from lingvis.untrusted import byte_lines


def read_text_vectors(file: Path, wanted: Collection[str]) -> WordTable:
    """The vectors of the wanted words, in the order of the file, which is read as a stream.

    The first line may give the numbers of words and dimensions. Words are compared in our spelling, NFKC and lower
    case; when several become the same word the first wins, which is the most frequent one in published files.
    """
    wanted = frozenset(wanted)
    found: dict[str, Floats] = {}
    promised = dim = lines = 0
    for number, line in _lines(file):
        spaces = line.count(b" ")
        if number == 1 and (header := _header(line)):
            promised, dim = header
            continue
        dim = dim or spaces
        lines += 1
        if not dim or (spaces != dim and not _has_spaces_in_word(line, dim)):
            raise _bad(file, number, f"{spaces} numbers after the word where {dim or 'some'} are expected")
        name, _, numbers = line.partition(b" ")
        try:
            word = normalised(name.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _bad(file, number, "a word that is not UTF-8") from error
        if spaces == dim and word in wanted and word not in found:
            found[word] = _numbers(numbers, file, number)
    if not dim or (promised and lines != promised):
        wrong = f"{lines} words where its first line says {promised}" if promised else "no vectors"
        raise UserError(f"{file} has {wrong}; the file may be cut off, download it again")
    return WordTable.of(found, dim)


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without trailing spaces; blank lines are skipped."""
    try:
        for number, line in enumerate(byte_lines(file), start=1):
            if stripped := line.rstrip(b" \r\n"):
                yield number, stripped
    except ValueError as error:
        raise UserError(f"{file} cannot be unpacked: {error}; download it again") from error


def _header(line: bytes) -> tuple[int, int] | None:
    """The numbers of words and dimensions if the line holds them, else None."""
    parts = line.split(b" ")
    if len(parts) == 2 and all(part.isdigit() for part in parts) and all(map(int, parts)):
        return int(parts[0]), int(parts[1])
    return None


def _has_spaces_in_word(line: bytes, dim: int) -> bool:
    """Whether the line is complete but its word contains spaces (". . ." in GloVe); no word of ours does."""
    parts = line.rsplit(b" ", dim)
    if len(parts) <= dim:
        return False
    try:
        float(parts[0].rpartition(b" ")[2])
    except ValueError:
        return True
    return False


def _numbers(text: bytes, file: Path, number: int) -> Floats:
    try:
        with np.errstate(
            over="ignore"
        ):  # a number that is too large becomes infinite, which is rejected below
            vector = np.array(text.split(b" ")).astype(np.float32)
    except ValueError as error:
        raise _bad(file, number, "something other than a number after the word") from error
    if not np.isfinite(vector).all():
        raise _bad(file, number, "a number that is not finite")
    return vector


def _bad(file: Path, number: int, got: str) -> UserError:
    return UserError(
        f"{file}, line {number}: {got}; a line must hold a word and its numbers, separated by single spaces, in UTF-8"
    )
