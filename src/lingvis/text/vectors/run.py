"""`lingvis vectors`: train or import the word vectors of a dataset, once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError, choices
from lingvis.progress import ProgressBar
from lingvis.text.segment import words
from lingvis.text.vectors.pca import reduce
from lingvis.text.vectors.read import file_checksum, read_vectors
from lingvis.text.vectors.store import VECTORS, VectorsOrigin, WordVectors, names, write_vectors
from lingvis.text.vectors.table import WordTable
from lingvis.text.vectors.training import METHOD, train_vectors, usual_epochs


@dataclass(frozen=True, slots=True)
class VectorsResult:
    """Word vectors of a dataset, and whether this call wrote them."""

    vectors: WordVectors
    changed: bool


def training_sentences(dataset: Dataset, languages: Sequence[str]) -> dict[str, list[str]]:
    """The sentences to train on by language: captions of split train, human and translated, and text-only sentences."""
    sentences: dict[str, list[str]] = {lang: [] for lang in languages}
    for row in dataset.rows:
        if row.split == "train":
            for lang in languages:
                sentences[lang] += (*row.captions.get(lang, ()), *row.translations(lang))
    for text in dataset.text_only():
        for lang in languages:
            # The parallel sentence is often one of the captions.
            parallel = (text.parallel[lang],) if lang in text.parallel else ()
            sentences[lang] += dict.fromkeys((*text.captions.get(lang, ()), *parallel))
    empty = [lang for lang in languages if not sentences[lang]]
    if empty:
        others = [lang for lang in dataset.languages if lang not in empty]
        raise UserError(
            f"{dataset.path} has no sentences to train on in {', '.join(empty)}; choose among: {choices(others)}"
        )
    return sentences


def train(
    dataset: Dataset | Path | str,
    *,
    name: str = "captions",
    dim: int = 300,
    epochs: int | None = None,
    languages: Sequence[str] = (),
    seed: int = 0,
) -> VectorsResult:
    """Train word vectors on the sentences of a dataset and store them in vectors/<name>/.

    epochs: passes over the sentences, by default `usual_epochs`; languages: all of the dataset by default.
    """
    dataset = Dataset.open(dataset)
    sentences = training_sentences(dataset, list(languages) or dataset.with_translations().languages)
    split = {lang: [words(text, lang) for text in texts] for lang, texts in sentences.items()}
    counts = {lang: sum(map(len, texts)) for lang, texts in split.items()}
    passes = {lang: epochs or usual_epochs(count) for lang, count in counts.items()}
    origins = {
        lang: VectorsOrigin(source=METHOD, sentences=digest(texts), dim=dim, epochs=passes[lang], seed=seed)
        for lang, texts in sentences.items()
    }
    folder = vectors_folder(dataset, name)
    if is_stored(folder, origins):
        return VectorsResult(WordVectors.open(folder), changed=False)
    tables = {}
    with ProgressBar("word vectors", sum(counts[lang] * passes[lang] for lang in counts)) as bar:
        for lang, texts in split.items():

            def advance(lang: str = lang) -> None:
                bar.advance(counts[lang], lang)

            tables[lang] = train_vectors(texts, dim=dim, epochs=passes[lang], seed=seed, on_epoch=advance)
    return VectorsResult(write_vectors(folder, tables, origins, dict.fromkeys(tables, 0)), changed=True)


def import_(
    dataset: Dataset | Path | str, *, name: str, files: Mapping[str, Path], dim: int | None = None
) -> VectorsResult:
    """Import published vectors, one file per language, for the words in the dataset's sentences.

    dim: reduce each language by PCA to this size; vectors that were aligned across languages lose their alignment.
    """
    dataset = Dataset.open(dataset)
    sentences = training_sentences(dataset, list(files))
    origins = {
        lang: VectorsOrigin(
            source=file.name, sentences=digest(sentences[lang]), dim=dim, file=file_checksum(file)
        )
        for lang, file in files.items()
    }
    folder = vectors_folder(dataset, name)
    if is_stored(folder, origins):
        return VectorsResult(WordVectors.open(folder), changed=False)
    tables, missing = {}, {}
    with ProgressBar("word vectors", len(files)) as bar:
        for lang, file in files.items():
            wanted = dict.fromkeys(word for text in sentences[lang] for word in words(text, lang))
            table = read_vectors(file, wanted)
            if not table.words:
                raise UserError(
                    f"{file} has none of the {len(wanted)} words of the sentences in {lang}; "
                    "check that it is a file of that language"
                )
            missing[lang] = len(wanted) - len(table.words)
            tables[lang] = table if dim is None else WordTable(table.words, reduce(table.values, dim))
            bar.advance(1, lang)
    _check_sizes(tables)
    return VectorsResult(write_vectors(folder, tables, origins, missing), changed=True)


def _check_sizes(tables: Mapping[str, WordTable]) -> None:
    sizes = {lang: table.values.shape[1] for lang, table in tables.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{lang} {size}" for lang, size in sizes.items())
        raise UserError(
            f"the files have vectors of several sizes ({listed}); set dim to reduce all to one size"
        )


def vectors_folder(dataset: Dataset, name: str) -> Path:
    """The folder of word vectors by name."""
    if Path(name).name != name or name.startswith("."):
        raise UserError(f"bad name {name!r} for word vectors; use a plain folder name, such as captions")
    return dataset.path / VECTORS / name


def is_stored(folder: Path, origins: Mapping[str, VectorsOrigin]) -> bool:
    """Whether the folder holds exactly these vectors; raises if it holds others: they are never overwritten."""
    if folder.name not in names(folder.parent.parent):
        return False
    stored = WordVectors.open(folder).manifest.languages
    if {lang: entry.origin for lang, entry in stored.items()} == origins:
        return True
    raise UserError(
        f"{folder} was made from other sentences, files or settings; choose another name, or delete the folder"
    )


def digest(sentences: Sequence[str]) -> str:
    """SHA-256 of sentences, one per line."""
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()
