"""fastText models in binary format (.bin): vectors of known words, and of unknown words from their subwords."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingvis.arrays import Floats
from lingvis.errors import UserError
from lingvis.text.segment import normalised
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.training import gensim

MAGIC, VERSIONS = 793712314, (11, 12)
SUPERVISED = 3
START = struct.Struct("<ii")  # magic, version
# dim, window, epochs, least count, negatives, word n-grams, loss, model, buckets, shortest, longest, rate, threshold
ARGUMENTS = struct.Struct("<12id")
DICTIONARY = struct.Struct("<iiiqq")  # entries, words, labels, tokens, pruned subwords
BEHIND_WORD = struct.Struct("<qb")  # count, kind
MATRIX = struct.Struct("<?qq")  # quantised, rows, columns


@dataclass(frozen=True, slots=True)
class _FastTextModel:
    """words: our spelling -> spelling in the file and row; matrix: float32 [words + buckets, dim], memory-mapped."""

    words: dict[str, tuple[str, int]]
    shortest: int
    longest: int
    buckets: int
    matrix: Floats

    def vector(self, word: str) -> Floats | None:
        """The mean of the vectors of a word and of its subwords; None if there are none."""
        written, row = self.words.get(word, (word, -1))
        rows = [row] if row >= 0 else []
        if self.longest > 0 and self.buckets:
            first = len(self.matrix) - self.buckets
            hashes = gensim("models.fasttext").ft_ngram_hashes(
                written, self.shortest, self.longest, self.buckets
            )
            rows += [first + number for number in hashes]
        return self.matrix[rows].mean(axis=0) if rows else None


def read_fasttext_bin(file: Path, wanted: Collection[str]) -> WordTable:
    """The vectors of the wanted words, float32 [words, dim]; the file is memory-mapped, never read as a whole.

    Words are compared in our spelling (`lingvis.text.segment`); when several become the same word the first wins,
    which is the most frequent. A word that the model lacks gets the mean of its subwords
    (Bojanowski et al. 2017, sec. 3.2).
    """
    try:
        model = _open(file, frozenset(wanted))
    except (struct.error, ValueError) as error:
        raise UserError(
            f"{file} is cut off: it ends before the fastText model does; download it again"
        ) from error
    vectors = {word: vector for word in wanted if (vector := model.vector(word)) is not None}
    for word, vector in vectors.items():
        if not np.isfinite(vector).all():
            raise UserError(
                f"{file} has a number that is not finite in the vector of {word!r}; download it again"
            )
    return WordTable.of(vectors, model.matrix.shape[1])


def _open(file: Path, wanted: frozenset[str]) -> _FastTextModel:
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic, version = START.unpack_from(data)
        if magic != MAGIC or version not in VERSIONS:
            raise UserError(
                f"{file} is not a fastText model of version 11 or 12; use a .bin or .vec file of fastText, "
                "or word2vec vectors as text"
            )
        dim, *_, kind, buckets, shortest, longest, _, _ = ARGUMENTS.unpack_from(data, START.size)
        if kind == SUPERVISED:
            raise UserError(
                f"{file} is a fastText classifier; use a model of word vectors (skipgram or cbow)"
            )
        place = START.size + ARGUMENTS.size
        entries, *_, pruned = DICTIONARY.unpack_from(data, place)
        place += DICTIONARY.size
        words: dict[str, tuple[str, int]] = {}
        for row in range(entries):  # words have the first rows of the matrix, in this order
            end = data.find(b"\0", place)
            if end < 0:
                raise ValueError("a word does not end")
            # Published models contain words that were cut inside a character; they match no word of ours.
            written = data[place:end].decode("utf-8", errors="replace")
            if (word := normalised(written)) in wanted:
                words.setdefault(word, (written, row))
            place = end + 1 + BEHIND_WORD.size
        place += max(pruned, 0) * 8
        quantised, rows, columns = MATRIX.unpack_from(data, place)
    if quantised:
        raise UserError(f"{file} is a quantised fastText model; use the .bin or .vec file it was made from")
    if columns != dim or rows != entries + buckets:
        raise ValueError("sizes do not fit together")
    matrix = np.memmap(file, "<f4", mode="r", offset=place + MATRIX.size, shape=(rows, columns))
    return _FastTextModel(words, shortest, longest, buckets, matrix)
