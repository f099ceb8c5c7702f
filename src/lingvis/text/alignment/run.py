"""`lingvis align`: fit a map between two word spaces, measure it, and write the mapped vectors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from lingvis.arrays import Floats, Ints
from lingvis.data.dataset import Dataset
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.files import atomic_folder, write_json
from lingvis.progress import ProgressBar
from lingvis.text.alignment.accuracy import accuracy
from lingvis.text.alignment.fit import (
    METHODS,
    MapMethod,
    check_pairs,
    check_sizes,
    dictionary_pairs,
    fit_pairs,
)
from lingvis.text.alignment.induction import induce_dictionary
from lingvis.text.alignment.parallel import parallel_words
from lingvis.text.alignment.prepare import prepare
from lingvis.text.alignment.rcsls import RcslsOptions
from lingvis.text.alignment.report import AlignmentReport, MapReport
from lingvis.text.alignment.tables import read_table
from lingvis.text.alignment.write import write_vectors_text
from lingvis.text.dictionaries import read_dictionary
from lingvis.text.vectors.table import WordTable

FILES = ("map.safetensors", "source.vec", "target.vec", "report.json")


def align(
    source: str | Path,
    target: str | Path,
    dictionary: Mapping[str, tuple[str, ...]] | str | Path,
    out: str | Path,
    *,
    method: MapMethod = "rcsls",
    neighbours: int = 10,
    spectral: bool = False,
    words: int = 200_000,
    held_out: float = 0.2,
    seed: int = 0,
    device: str | None = None,
) -> AlignmentReport:
    """Map the word vectors of `source` into the space of `target`, measure the map and write it to the folder `out`.

    source, target: places that `read_table` accepts; the first `words` words of each are used.
    dictionary: word -> translations, or a file for `read_dictionary`. The share `held_out` of its source
    words, drawn by `seed`, measures the map and takes no part in the fit.
    neighbours, spectral: k and spectral of `RcslsOptions`.
    """
    out = Path(out)
    check_out(out)
    choose_device(device)  # raises for a missing device before large files are read
    translations = dictionary if isinstance(dictionary, Mapping) else read_dictionary(Path(dictionary))
    source_table, target_table = (read_prepared(str(place), words) for place in (source, target))
    check_sizes(source_table, target_table)
    fitting, measuring = split_words(
        dictionary_pairs(source_table, target_table, translations), held_out, seed
    )
    check_pairs(fitting, source_table.dim)
    if not len(measuring):
        raise UserError(
            f"held_out is {held_out}, which leaves no word for measuring the map; "
            "choose a larger share, such as 0.2"
        )
    maps, matrix = _fit_and_measure(
        METHODS if method == "rcsls" else ("procrustes",),
        (source_table.values, target_table.values),
        fitting,
        measuring,
        RcslsOptions(k=neighbours, spectral=spectral),
        device,
    )
    report = AlignmentReport(
        source=str(source),
        source_words=len(source_table.words),
        target=str(target),
        target_words=len(target_table.words),
        dim=source_table.dim,
        method=method,
        neighbours=neighbours,
        spectral=spectral,
        seed=seed,
        fitted_pairs=len(fitting),
        held_out_pairs=len(measuring),
        held_out_words=len(np.unique(measuring[:, 0])),
        maps=maps,
    )
    with atomic_folder(out) as folder:
        (folder / FILES[0]).write_bytes(save({"matrix": matrix}, metadata={"method": method}))
        write_vectors_text(folder / FILES[1], source_table, matrix)
        write_vectors_text(folder / FILES[2], target_table)
        write_json(folder / FILES[3], report.as_json())
    return report


def _fit_and_measure(
    methods: tuple[MapMethod, ...],
    spaces: tuple[Floats, Floats],
    fitting: Ints,
    measuring: Ints,
    options: RcslsOptions,
    device: str | None,
) -> tuple[dict[str, MapReport], Floats]:
    """The reports of the identity and of every method, and the matrix [d, d] of the last method."""
    source, target = spaces
    maps: dict[str, MapReport] = {}
    matrix = np.eye(source.shape[1], dtype=np.float32)
    with ProgressBar("word-space map", len(methods) + 1 + ("rcsls" in methods) * options.steps) as bar:

        def measure(
            seconds: float, objective: list[float] | None = None, steps: list[float] | None = None
        ) -> MapReport:
            result = accuracy(matrix, source, target, measuring, k=options.k, device=device)
            bar.advance(1, f"CSLS accuracy {result.csls:.1f} %")
            return MapReport(result.nn, result.csls, seconds, objective, steps)

        watched = replace(options, on_step=lambda objective: bar.advance(1, f"objective {objective:.3f}"))
        maps["identity"] = measure(0.0)
        for method in methods:
            start = time.perf_counter()
            fitted = fit_pairs(method, source, target, fitting, watched, device=device)
            matrix = fitted.matrix
            maps[method] = measure(time.perf_counter() - start, fitted.objective, fitted.steps)
    return maps, matrix


def induced(dataset: Dataset | str | Path, langs: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    """A dictionary from the first language into the second, induced from the sentences of a dataset."""
    return induce_dictionary(parallel_words(Dataset.open(dataset), *langs))


def read_prepared(place: str, words: int) -> WordTable:
    """The first `words` words at `place`, with prepared vectors."""
    table = read_table(place, words)
    return WordTable(table.words, prepare(table.values, in_place=True))


def split_words(pairs: Ints, held_out: float, seed: int) -> tuple[Ints, Ints]:
    """Pairs for fitting and pairs for measuring, int64 [n, 2] each; all translations of a word stay together."""
    words = np.unique(pairs[:, 0])
    chosen = np.random.default_rng(seed).permutation(words)[: round(held_out * len(words))]
    is_held_out = np.isin(pairs[:, 0], chosen)
    return pairs[~is_held_out], pairs[is_held_out]


def check_out(out: Path) -> None:
    """Raise unless `out` is free or holds an earlier map to replace; other files would be lost."""
    if out.is_dir() and {entry.name for entry in out.iterdir()} - set(FILES):
        raise UserError(f"out is {out}, which holds files that do not belong to a map; name a new folder")
    if out.exists() and not out.is_dir():
        raise UserError(f"out is {out}, which is a file; name a new folder")
