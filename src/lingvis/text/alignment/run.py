"""The job of `lingvis align`: fit a map between two word spaces, measure it, and write the mapped vectors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

import lingvis
from lingvis.arrays import Ints
from lingvis.data.dataset import Dataset
from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.files import atomic_folder, write_json
from lingvis.hardware import describe_hardware
from lingvis.progress import ProgressBar
from lingvis.text.alignment import MapMethod, accuracy, induce_dictionary, parallel_words, prepare
from lingvis.text.alignment.fit import METHODS, check_pairs, check_sizes, dictionary_pairs, fit_pairs
from lingvis.text.alignment.rcsls import STEPS
from lingvis.text.alignment.tables import read_table
from lingvis.text.alignment.write import write_vectors_text
from lingvis.text.vectors.table import WordTable

FILES = ("map.safetensors", "source.vec", "target.vec", "report.json")


def align(
    source: str,
    target: str,
    dictionary: Mapping[str, tuple[str, ...]],
    out: Path,
    *,
    method: MapMethod = "rcsls",
    neighbours: int = 10,
    spectral: bool = False,
    words: int = 200_000,
    held_out: float = 0.2,
    seed: int = 0,
    device: str | None = None,
) -> dict[str, Any]:
    """Map the words of source into the space of target, both as `read_table` reads them; the report.

    `held_out` of the source words of the dictionary take no part in the fit, and measure it.
    """
    check_out(out)
    choose_device(device)  # says so when it is not there, before large files are read
    one, other = read_prepared(source, words), read_prepared(target, words)
    check_sizes(one, other)
    pairs = dictionary_pairs(one, other, dictionary)
    learn, ask = split_words(pairs, held_out, seed)
    dim = one.values.shape[1]
    check_pairs(learn, dim)
    if not len(ask):
        raise UserError(
            f"--held-out {held_out} leaves no word to measure the map with; choose a larger share, such as 0.2"
        )
    maps: dict[str, dict[str, Any]] = {}
    matrix = np.eye(dim, dtype=np.float32)
    fitted: tuple[MapMethod, ...] = METHODS if method == "rcsls" else ("procrustes",)
    with ProgressBar("word-space map", len(fitted) + 1 + (STEPS if method == "rcsls" else 0)) as bar:

        def measured(extra: Mapping[str, Any]) -> dict[str, Any]:
            found = accuracy(matrix, one.values, other.values, ask, k=neighbours, device=device)
            bar.advance(1, f"CSLS accuracy {found.csls:.1f} %")
            return {"nn": found.nn, "csls": found.csls, **extra}

        maps["identity"] = measured({"seconds": 0.0})
        for each in fitted:
            start = time.perf_counter()
            made = fit_pairs(
                each, one.values, other.values, learn, k=neighbours, spectral=spectral, device=device,
                on_step=lambda objective: bar.advance(1, f"objective {objective:.3f}"),
            )  # fmt: skip
            matrix = made.matrix
            seconds = time.perf_counter() - start
            maps[each] = measured({"seconds": seconds, "objective": made.objective, "steps": made.steps})
    report = {
        "lingvis": lingvis.__version__,
        "source": {"vectors": source, "words": len(one.words)},
        "target": {"vectors": target, "words": len(other.words)},
        "dim": dim,
        "method": method,
        "neighbours": neighbours,
        "spectral": spectral,
        "seed": seed,
        "pairs": {"fitted": len(learn), "held_out": len(ask), "held_out_words": len(np.unique(ask[:, 0]))},
        "maps": maps,
        "hardware": describe_hardware(),
    }
    with atomic_folder(out) as folder:
        (folder / FILES[0]).write_bytes(save({"matrix": matrix}, metadata={"method": method}))
        write_vectors_text(folder / FILES[1], one, matrix)
        write_vectors_text(folder / FILES[2], other)
        write_json(folder / FILES[3], report)
    return report


def induced(dataset: Path, langs: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    """The dictionary that the sentences of a dataset hold, from one language into the other."""
    return induce_dictionary(parallel_words(Dataset.open(dataset), *langs))


def read_prepared(place: str, words: int) -> WordTable:
    """A table with prepared vectors."""
    table = read_table(place, words)
    return WordTable(table.words, prepare(table.values, in_place=True))


def split_words(pairs: Ints, held_out: float, seed: int) -> tuple[Ints, Ints]:
    """Pairs to learn from and pairs to ask, int64 [n, 2] each; all translations of a source word go one way."""
    words = np.unique(pairs[:, 0])
    asked = np.random.default_rng(seed).permutation(words)[: round(held_out * len(words))]
    ask = np.isin(pairs[:, 0], asked)
    return pairs[~ask], pairs[ask]


def check_out(out: Path) -> None:
    """The folder is new, or holds a map that is written anew; anything else in it would be lost."""
    if out.is_dir() and {entry.name for entry in out.iterdir()} - set(FILES):
        raise UserError(f"{out} holds other files than those of a map; name a new folder with --out")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is no folder; name a new folder with --out")
