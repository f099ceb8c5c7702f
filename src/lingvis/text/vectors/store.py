"""Stored word vectors: a folder with one file per language and a manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

import lingvis
from lingvis.arrays import Bools, Floats
from lingvis.errors import UserError, choices
from lingvis.files import atomic_folder, checksum, write_json
from lingvis.strict import StrictModel, explain
from lingvis.text.vectors.table import WordTable
from lingvis.untrusted import check_regular, parse_json, read_bytes

MANIFEST = "manifest.json"
VECTORS = "vectors"  # the folder below the dataset, and the tensor of a file
ALIGNED = "aligned"  # the usual name of vectors that were rotated into one space


class VectorsOrigin(StrictModel):
    """Where the vectors of a language come from; equal origins mean equal vectors.

    source: the training method, or the name of the source file, whose SHA-256 is `file`.
    sentences: SHA-256 of the sentences whose words are kept, one sentence per line.
    dim: the requested size; None keeps the size of the file. space: the language whose space they were rotated into.
    """

    source: str
    sentences: str
    dim: int | None = None
    file: str | None = None
    epochs: int | None = None
    seed: int | None = None
    space: str | None = None


class LanguageVectors(StrictModel):
    """The entry of one language in the manifest; missing: number of words of its sentences without a vector."""

    origin: VectorsOrigin
    words: int
    missing: int
    checksum: str


class VectorsManifest(StrictModel):
    """manifest.json."""

    format: Literal[1]
    lingvis: str
    dim: int
    languages: dict[str, LanguageVectors]


class WordVectors:
    """Word vectors of one size in several languages; each language is read at its first use."""

    def __init__(self, path: Path, manifest: VectorsManifest) -> None:
        self.path, self.manifest = path, manifest
        self._tables: dict[str, WordTable] = {}
        self._rows: dict[str, dict[str, int]] = {}

    @classmethod
    def open(cls, path: Path | str) -> WordVectors:
        """Open DATASET/vectors/NAME."""
        path = Path(path)
        file = path / MANIFEST
        if not file.is_file():
            raise UserError(
                f"no word vectors at {path} (available: {choices(names(path.parent.parent))}); "
                f"make some with: lingvis vectors {_command(path)}"
            )
        try:
            return cls(path, VectorsManifest.model_validate_json(read_bytes(file)))
        except ValidationError as error:
            raise _damaged(path, f"{MANIFEST}: {explain(error.errors()[0])}") from error
        except ValueError as error:
            raise _damaged(path, str(error)) from error

    @property
    def languages(self) -> list[str]:
        """The languages that have vectors."""
        return list(self.manifest.languages)

    @property
    def dim(self) -> int:
        """The size of a vector."""
        return self.manifest.dim

    def table(self, lang: str) -> WordTable:
        """All words of a language and their vectors."""
        if lang not in self._tables:
            self._tables[lang] = self._read(lang)
        return self._tables[lang]

    def lookup(self, words: Sequence[str], lang: str) -> tuple[Floats, Bools]:
        """Vectors float32 [n, dim] of words as `lingvis.text.segment.words` spells them, and which words have one.

        A word without a vector has zeros.
        """
        table = self.table(lang)
        if lang not in self._rows:
            self._rows[lang] = {word: row for row, word in enumerate(table.words)}
        rows = np.array([self._rows[lang].get(word, -1) for word in words], dtype=np.int64)
        has_vector = rows >= 0
        values = np.zeros((len(rows), self.dim), dtype=np.float32)
        values[has_vector] = table.values[rows[has_vector]]
        return values, has_vector

    def _read(self, lang: str) -> WordTable:
        if lang not in self.manifest.languages:
            raise UserError(f"{self.path} has no vectors in {lang!r}; it has: {choices(self.languages)}")
        file = self.path / _file_name(lang)
        try:
            check_regular(file)
            if checksum(file) != self.manifest.languages[lang].checksum:
                raise _damaged(self.path, f"{file.name} does not match its checksum")
            with safe_open(file, framework="numpy") as stored:
                words = parse_json(stored.metadata()["words"])
                return WordTable(words, stored.get_tensor(VECTORS).astype(np.float32))
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise _damaged(self.path, f"{file.name}: {error}") from error


def _command(path: Path) -> str:
    """How to make the word vectors that are missing at DATASET/vectors/NAME."""
    dataset, name = path.parent.parent, path.name
    if name == ALIGNED and names(dataset):
        return f"align {dataset} --source {names(dataset)[0]}"
    first = f"train {dataset} && lingvis vectors align {dataset}"
    return first if name == ALIGNED else f"train {dataset} --name {name}"


def names(dataset: Path) -> list[str]:
    """The names of the word vectors stored in a dataset folder."""
    return sorted(file.parent.name for file in (dataset / VECTORS).glob(f"*/{MANIFEST}"))


def write_vectors(
    path: Path,
    tables: Mapping[str, WordTable],
    origins: Mapping[str, VectorsOrigin],
    missing: Mapping[str, int],
) -> WordVectors:
    """Write a folder of word vectors atomically, as float16, which is precise enough for them."""
    for lang, table in tables.items():
        _check_range(table, origins[lang].source)
    languages = {}
    with atomic_folder(path) as folder:
        for lang, table in tables.items():
            file = folder / _file_name(lang)
            metadata = {"words": json.dumps(table.words, ensure_ascii=False)}
            # Not save_file, which makes files that only the owner may read.
            file.write_bytes(save({VECTORS: table.values.astype(np.float16)}, metadata=metadata))
            languages[lang] = LanguageVectors(
                origin=origins[lang],
                words=len(table.words),
                missing=missing[lang],
                checksum=checksum(file),
            )
        (dim,) = {table.values.shape[1] for table in tables.values()}
        manifest = VectorsManifest(format=1, lingvis=lingvis.__version__, dim=dim, languages=languages)
        write_json(folder / MANIFEST, manifest.model_dump(mode="json", exclude_none=True))
    return WordVectors.open(path)


def _check_range(table: WordTable, source: str) -> None:
    """Raise for numbers that float16 cannot hold."""
    too_large = ~(np.abs(table.values) <= np.finfo(np.float16).max).all(axis=1)
    if too_large.any():
        word = table.words[int(too_large.argmax())]
        raise UserError(
            f"the vector of {word!r} from {source} has a number above 65504, the largest that can be stored; "
            "divide all vectors of that file by a common factor"
        )


def _file_name(lang: str) -> str:
    return f"{lang}.safetensors"


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(f"{path} is damaged ({reason}); delete the folder and make the word vectors again")
