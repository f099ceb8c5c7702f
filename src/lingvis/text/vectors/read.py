"""Read vectors of wanted words from a published file, by its ending."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.text.vectors.fasttext_bin import read_fasttext_bin
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.text_format import read_text_vectors


def file_checksum(file: Path) -> str:
    """SHA-256 of a file of word vectors, which is there; it is read as a stream."""
    if not file.is_file():
        raise UserError(f"no file of word vectors at {file}; name a .vec, .txt, .vec.gz or .bin file")
    return checksum(file)


def read_vectors(file: Path, wanted: Collection[str]) -> WordTable:
    """fastText models from .bin; fastText and word2vec text from anything else, also compressed as .gz."""
    if file.suffix in (".bin", ".ftz"):
        return read_fasttext_bin(file, wanted)
    return read_text_vectors(file, wanted)
