"""From two tables of words and a dictionary to a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.errors import UserError
from lingvis.text.alignment.prepare import prepare
from lingvis.text.alignment.procrustes import procrustes
from lingvis.text.alignment.rcsls import STEPS, Alignment, rcsls
from lingvis.text.vectors.table import WordTable

MapMethod = Literal["procrustes", "rcsls"]
METHODS: tuple[MapMethod, ...] = get_args(MapMethod)
LEAST_PAIRS = (
    10  # and a sixth of the dimensions, 50 of 300: with fewer most of the map would be left to chance
)


def fit_map(
    method: MapMethod,
    source: WordTable,
    target: WordTable,
    dictionary: Mapping[str, tuple[str, ...]],
    *,
    k: int = 10,
    spectral: bool = False,
    steps: int = STEPS,
    device: str | None = None,
    on_step: Callable[[float], None] = lambda objective: None,
) -> Alignment:
    """Fit a map from the words of source into the space of target; mapped = prepare(source.values) @ matrix.T.

    The other options are those of `rcsls`; procrustes has none.
    """
    check_sizes(source, target)
    pairs = dictionary_pairs(source, target, dictionary)
    check_pairs(pairs, source.values.shape[1])
    return fit_pairs(
        method, prepare(source.values), prepare(target.values), pairs, k=k, spectral=spectral,
        steps=steps, device=device, on_step=on_step,
    )  # fmt: skip


def fit_pairs(
    method: MapMethod,
    source: Floats,
    target: Floats,
    pairs: Ints,
    *,
    k: int = 10,
    spectral: bool = False,
    steps: int = STEPS,
    device: str | None = None,
    on_step: Callable[[float], None] = lambda objective: None,
) -> Alignment:
    """As `fit_map`, from prepared vectors [s, d] and [t, d] and pairs of their rows, int64 [n, 2]."""
    if method == "procrustes":
        return Alignment(procrustes(source[pairs[:, 0]], target[pairs[:, 1]]), len(pairs))
    return rcsls(source, target, pairs, k=k, spectral=spectral, steps=steps, device=device, on_step=on_step)


def dictionary_pairs(source: WordTable, target: WordTable, dictionary: Mapping[str, tuple[str, ...]]) -> Ints:
    """Rows of both tables for each word and translation that have a vector, int64 [n, 2], by source row."""
    rows = {word: row for row, word in enumerate(target.words)}
    found = [
        (row, rows[translation])
        for row, word in enumerate(source.words)
        for translation in dictionary.get(word, ())
        if translation in rows
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    known = source.values[pairs[:, 0]].any(axis=1) & target.values[pairs[:, 1]].any(axis=1)
    return pairs[known]


def check_sizes(source: WordTable, target: WordTable) -> None:
    """Both tables are of one size; a map of other shapes would lose what the target space knows."""
    sizes = source.values.shape[1], target.values.shape[1]
    if sizes[0] != sizes[1]:
        raise UserError(
            f"the source vectors have {sizes[0]} dimensions and the target vectors {sizes[1]}; take vectors of one "
            "size, or reduce the larger with: lingvis vectors import --dim"
        )


def check_pairs(pairs: Ints, dim: int) -> None:
    """Enough pairs to say something of a map of `dim` dimensions."""
    least = max(LEAST_PAIRS, dim // 6)
    if len(pairs) < least:
        raise UserError(
            f"only {len(pairs)} pairs of the dictionary have vectors on both sides, and a map of {dim} dimensions "
            f"needs {least} or more; look whether the languages are the right way round, or give a larger dictionary"
        )
