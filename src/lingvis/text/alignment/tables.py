"""The first words of a file of word vectors, or of stored word vectors."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from lingvis.errors import UserError
from lingvis.text.segment import normalised
from lingvis.text.vectors.fasttext_bin import ARGUMENTS, BEHIND_WORD, DICTIONARY, START
from lingvis.text.vectors.read import read_vectors
from lingvis.text.vectors.store import WordVectors
from lingvis.text.vectors.table import WordTable
from lingvis.untrusted import byte_lines


def read_table(place: str, words: int) -> WordTable:
    """The first `words` words, which are the most frequent, of a .vec, .txt, .gz or .bin file or of FOLDER:LANG.

    FOLDER holds stored vectors, DATASET/vectors/NAME. Words are in our spelling (`lingvis.text.segment`); when
    several become the same word, the first counts.
    """
    file = Path(place)
    folder, sign, lang = place.rpartition(":")
    if file.is_file():
        table = read_vectors(file, _first(_spellings(file), words))
    elif sign and not file.exists():
        whole = WordVectors.open(folder).table(lang)
        table = WordTable(whole.words[:words], whole.values[:words])
    else:
        raise UserError(
            f"no word vectors at {place}; name a .vec, .txt, .vec.gz or .bin file, or stored vectors as "
            "DATASET/vectors/NAME:LANG"
        )
    if not table.words:
        raise UserError(f"{place} has no words; the file may be cut off, download it again")
    return table


def _first(spellings: Iterable[str], words: int) -> list[str]:
    """The first distinct words in our spelling."""
    seen: dict[str, None] = {}

    def new() -> Iterator[str]:
        for spelling in spellings:
            if (word := normalised(spelling)) not in seen:
                seen[word] = None
                yield word

    return list(islice(new(), words))


def _spellings(file: Path) -> Iterator[str]:
    """The words of a file in its spelling; problems of the file are reported when its vectors are read."""
    if file.suffix == ".bin":
        yield from _spellings_of_model(file)
        return
    try:
        for number, line in enumerate(byte_lines(file)):
            word, _, numbers = line.strip().partition(b" ")
            if number or b" " in numbers:  # the first line may count words and dimensions
                yield word.decode("utf-8", errors="replace")
    except ValueError:
        return


def _spellings_of_model(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = START.size + ARGUMENTS.size
            entries, *_ = DICTIONARY.unpack_from(data, place)
            place += DICTIONARY.size
            for _ in range(entries):
                end = data.find(b"\0", place)
                if end < 0:
                    return
                yield data[place:end].decode("utf-8", errors="replace")
                place = end + 1 + BEHIND_WORD.size
    except (struct.error, ValueError):
        return
