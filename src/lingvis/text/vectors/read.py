"""Read the vectors of given words from a published file; the suffix decides the format."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lingvis.errors import UserError
from lingvis.files import checksum
from lingvis.text.vectors.fasttext_bin import read_fasttext_bin
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.text_format import read_text_vectors


def file_checksum(file: Path) -> str:
    """SHA-256 of a file of word vectors; raises if there is no such file."""
    _check_exists(file)
    return checksum(file)


def read_vectors(file: Path, wanted: Collection[str]) -> WordTable:
    """Vectors of the wanted words: .bin is a fastText model, anything else fastText or word2vec text, plain or .gz."""
    _check_exists(file)
    if file.suffix in (".bin", ".ftz"):
        return read_fasttext_bin(file, wanted)
    return read_text_vectors(file, wanted)


def _check_exists(file: Path) -> None:
    if not file.is_file():
        raise UserError(f"no file of word vectors at {file}; name a .vec, .txt, .vec.gz or .bin file")
