"""Two word tables and a dictionary -> a map between their spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from lingvis.arrays import Floats, Ints
from lingvis.errors import UserError
from lingvis.text.alignment.prepare import prepare
from lingvis.text.alignment.procrustes import procrustes
from lingvis.text.alignment.rcsls import DEFAULT_OPTIONS, Alignment, RcslsOptions, rcsls
from lingvis.text.vectors.table import WordTable

MapMethod = Literal["procrustes", "rcsls"]
METHODS: tuple[MapMethod, ...] = get_args(MapMethod)
# At least 10 pairs, and a sixth of the dimensions (50 of 300): with fewer, most of the map would be chance.
LEAST_PAIRS = 10


def fit_map(
    method: MapMethod,
    source: WordTable,
    target: WordTable,
    dictionary: Mapping[str, tuple[str, ...]],
    options: RcslsOptions = DEFAULT_OPTIONS,
    *,
    device: str | None = None,
) -> Alignment:
    """Fit a map from the words of source into the space of target; mapped = prepare(source.values) @ matrix.T.

    options: for the method rcsls; procrustes has none.
    """
    check_sizes(source, target)
    pairs = dictionary_pairs(source, target, dictionary)
    check_pairs(pairs, source.dim)
    return fit_pairs(method, prepare(source.values), prepare(target.values), pairs, options, device=device)


def fit_pairs(
    method: MapMethod,
    source: Floats,
    target: Floats,
    pairs: Ints,
    options: RcslsOptions = DEFAULT_OPTIONS,
    *,
    device: str | None = None,
) -> Alignment:
    """The same as `fit_map`, from prepared vectors [s, d] and [t, d] and pairs of their rows, int64 [n, 2]."""
    if method == "procrustes":
        return Alignment(procrustes(source[pairs[:, 0]], target[pairs[:, 1]]), len(pairs))
    return rcsls(source, target, pairs, options, device=device)


def dictionary_pairs(source: WordTable, target: WordTable, dictionary: Mapping[str, tuple[str, ...]]) -> Ints:
    """Rows of both tables for each word and translation that have a vector, int64 [n, 2], by source row."""
    target_row = {word: row for row, word in enumerate(target.words)}
    matches = [
        (row, target_row[translation])
        for row, word in enumerate(source.words)
        for translation in dictionary.get(word, ())
        if translation in target_row
    ]
    pairs = np.array(matches, dtype=np.int64).reshape(-1, 2)
    has_vectors = source.values[pairs[:, 0]].any(axis=1) & target.values[pairs[:, 1]].any(axis=1)
    return pairs[has_vectors]


def check_sizes(source: WordTable, target: WordTable) -> None:
    """Raise unless both tables have vectors of one size."""
    if source.dim != target.dim:
        raise UserError(
            f"the source vectors have {source.dim} dimensions and the target vectors {target.dim}; use vectors of "
            "one size, or reduce the larger ones with: lingvis vectors import --dim"
        )


def check_pairs(pairs: Ints, dim: int) -> None:
    """Raise if there are too few pairs to fit a map of `dim` dimensions."""
    least = max(LEAST_PAIRS, dim // 6)
    if len(pairs) < least:
        raise UserError(
            f"only {len(pairs)} pairs of the dictionary have vectors on both sides, and a map of {dim} dimensions "
            f"needs at least {least}; check the direction of the dictionary, or use a larger one"
        )
