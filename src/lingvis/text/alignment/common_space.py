"""`lingvis vectors align`: the word vectors of all languages of a dataset rotated into one space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingvis.arrays import Floats
from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.progress import ProgressBar
from lingvis.text.alignment.accuracy import accuracy
from lingvis.text.alignment.fit import check_pairs, dictionary_pairs
from lingvis.text.alignment.induction import induce_dictionary
from lingvis.text.alignment.parallel import parallel_words
from lingvis.text.alignment.prepare import prepare
from lingvis.text.alignment.procrustes import procrustes
from lingvis.text.alignment.run import split_words
from lingvis.text.vectors.run import VectorsResult, digest, is_stored, vectors_folder
from lingvis.text.vectors.store import ALIGNED, VECTORS, VectorsOrigin, WordVectors, write_vectors
from lingvis.text.vectors.table import WordTable

HELD_OUT = 0.2  # share of the dictionary that measures a rotation fitted on the rest


@dataclass(frozen=True, slots=True)
class Rotation:
    """How a language was rotated: pairs of its induced dictionary, and the accuracy by CSLS of the held-out ones, %."""

    pairs: int
    accuracy: float


@dataclass(frozen=True, slots=True)
class CommonSpace:
    """Word vectors in one space, and the rotation of each language; none if the vectors were there already."""

    result: VectorsResult
    rotations: Mapping[str, Rotation]


def align_vectors(
    dataset: Dataset | Path | str, *, source: str = "captions", name: str = ALIGNED, space: str = "en"
) -> CommonSpace:
    """Rotate the vectors vectors/<source>/ of every language into the space of one, and store them in vectors/<name>/.

    The rotation of a language is the orthogonal Procrustes solution over a dictionary that is induced from the captions
    of split train and the text-only sentences: sentences about one picture in both languages. Vectors are centred per
    language and keep their lengths: a model that starts from shorter ones learns later. The first principle of SMALR's
    latent tokens is that words of several languages share one, which needs a common space (Burns et al. 2020, section
    3.1, with the vectors of Conneau et al. 2018).
    """
    dataset = Dataset.open(dataset)
    vectors = WordVectors.open(dataset.path / VECTORS / source)
    if space not in vectors.languages:
        raise UserError(
            f"{vectors.path} has no vectors in {space!r}, which `space` names; choose one of: {choices(vectors.languages)}"
        )
    others = [lang for lang in vectors.languages if lang != space]
    sentences = {lang: parallel_words(dataset, lang, space) for lang in others}
    origins = {
        lang: VectorsOrigin(
            source=entry.origin.source,
            sentences=digest([" ".join([*one, "=", *other]) for one, other in sentences.get(lang, [])]),
            file=entry.checksum,
            space=space,
        )
        for lang, entry in vectors.manifest.languages.items()
    }
    folder = vectors_folder(dataset, name)
    if is_stored(folder, origins):
        return CommonSpace(VectorsResult(WordVectors.open(folder), changed=False), {})
    target = _prepared(vectors, space)
    tables, rotations = {space: _with_lengths(target, vectors, space)}, {}
    with ProgressBar("rotations", len(others)) as bar:
        for lang in others:
            table = _prepared(vectors, lang)
            matrix, rotations[lang] = _rotate(table, target, sentences.pop(lang), lang)
            tables[lang] = _with_lengths(WordTable(table.words, table.values @ matrix.T), vectors, lang)
            bar.advance(1, f"{lang}: {rotations[lang].pairs} pairs, {rotations[lang].accuracy:.0f} % right")
    missing = {lang: entry.missing for lang, entry in vectors.manifest.languages.items()}
    tables = {lang: tables[lang] for lang in vectors.languages}
    return CommonSpace(
        VectorsResult(write_vectors(folder, tables, origins, missing), changed=True), rotations
    )


def _rotate(
    table: WordTable, target: WordTable, sentences: list[tuple[list[str], list[str]]], lang: str
) -> tuple[Floats, Rotation]:
    """The rotation [dim, dim] of a language, fitted on its whole dictionary."""
    pairs = dictionary_pairs(table, target, induce_dictionary(sentences))
    try:
        check_pairs(pairs, table.dim)
    except UserError as error:
        raise UserError(f"language {lang}: {error}, or leave the language out of the word vectors") from error
    fitting, measuring = split_words(pairs, HELD_OUT, seed=0)
    trial = procrustes(table.values[fitting[:, 0]], target.values[fitting[:, 1]])
    right = (
        accuracy(trial, table.values, target.values, measuring, device="cpu").csls
        if len(measuring)
        else np.nan
    )
    return procrustes(table.values[pairs[:, 0]], target.values[pairs[:, 1]]), Rotation(len(pairs), right)


def _prepared(vectors: WordVectors, lang: str) -> WordTable:
    """The directions of a language's vectors from their centre."""
    table = vectors.table(lang)
    return WordTable(table.words, prepare(table.values))


def _with_lengths(directions: WordTable, vectors: WordVectors, lang: str) -> WordTable:
    """Unit vectors with the lengths of the stored vectors of the same words."""
    lengths = np.linalg.norm(vectors.table(lang).values, axis=1, keepdims=True)
    return WordTable(directions.words, directions.values * lengths)
