"""The best rows of a query among all rows: a scan over 8-bit codes, then a comparison of the candidates in full."""

from __future__ import annotations

import numpy as np
import simsimd
from numpy.typing import NDArray

from lingvis.arrays import Floats

Halves = NDArray[np.float16]
Rows = NDArray[np.intp]
BLOCK = 256  # rows whose largest score stands for them in the search for a bound
CHUNK = 16_384  # rows that are converted at a time
GATHERED = 8  # from this many rows per allowed one on, the codes of the allowed ones are put together first
LARGEST = 127  # of a code
ROUNDING = 1e-5  # more than single precision rounds a product


class VectorScan:
    """Unit vectors, float16 [rows, dim], each with a code: whole numbers of 8 bits, and what one of them is worth.

    Memory speed limits a query, and codes are half as long as vectors: 1,000,000 x 256 values take 12 ms on one core, where
    a product in single precision takes 100. No row is lost by them: a product with codes differs from the true one by
    at most a known bound, so that every row within twice of that of the best ones is compared again in double precision.
    """

    def __init__(self, vectors: Halves) -> None:
        self._vectors = vectors
        self._codes = np.empty(vectors.shape, np.int8)
        self._units = np.empty(len(vectors), np.float32)
        self._rest = self._length = 0.0  # the largest norm of what codes leave out, and of what they keep
        for begin in range(0, len(vectors), CHUNK):
            part = slice(begin, begin + CHUNK)
            self._codes[part], self._units[part], rest, length = _encode(vectors[part].astype(np.float32))
            self._rest, self._length = max(self._rest, rest), max(self._length, length)

    def __len__(self) -> int:
        return len(self._vectors)

    def best(self, query: Floats, count: int, among: Rows | None = None) -> tuple[Rows, NDArray[np.float64]]:
        """Return at least the `count` best rows with their products, in any order: all rows as good as the last of them.

        query: float32 [dim]; among: the rows that are allowed, by default all.
        """
        count = min(count, len(self) if among is None else len(among))
        if count == 0:
            return np.empty(0, np.intp), np.empty(0)
        code, unit, rest, _ = _encode(query[None])
        few = among is not None and GATHERED * len(among) < len(self)
        codes, units = (self._codes[among], self._units[among]) if few else (self._codes, self._units)
        products = np.asarray(simsimd.cdist(code, codes, "dot", out_dtype="float32"))[0]
        products *= units
        products *= unit[0]
        if among is not None and not few:
            products = products[among]
        # By Cauchy and Schwarz: what the code of a row leaves out, and what the code of the query leaves out.
        error = float(np.linalg.norm(query)) * self._rest + rest * self._length + ROUNDING
        candidates = np.flatnonzero(products >= _least(products, count) - 2 * error)
        if among is not None:
            candidates = among[candidates]
        exact = self._products(candidates, query)
        good = exact >= np.partition(exact, len(exact) - count)[len(exact) - count]
        return candidates[good], exact[good]

    def _products(self, rows: Rows, query: Floats) -> NDArray[np.float64]:
        """Return the product of each row with the query, in double precision.

        Row by row: in one product of matrices, copies of a picture may differ in the last digit.
        """
        parts = [rows[begin : begin + CHUNK] for begin in range(0, len(rows), CHUNK)]
        return np.concatenate(
            [(self._vectors[part].astype(np.float64) * query).sum(axis=1) for part in parts]
        )


def _encode(vectors: Floats) -> tuple[NDArray[np.int8], Floats, float, float]:
    """Return codes, units, and the largest norm of the rest and of the codes; vectors: float32 [rows, dim]."""
    if not np.isfinite(vectors).all():
        raise ValueError("an embedding has values that are not numbers")
    units = np.abs(vectors).max(axis=1) / LARGEST
    units[units == 0] = 1
    codes = np.rint(vectors / units[:, None]).astype(np.int8)
    kept = codes * units[:, None]
    rest = np.linalg.norm(vectors - kept, axis=1).max()
    return codes, units, float(rest), float(np.linalg.norm(kept, axis=1).max())


def _least(products: Floats, count: int) -> float:
    """Return a bound that at least `count` products reach, and hardly more: the smallest of the largest per block."""
    blocks = len(products) // BLOCK
    if blocks < 4 * count:
        return float(np.partition(products, len(products) - count)[len(products) - count])
    largest = products[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
    return float(np.partition(largest, blocks - count)[blocks - count])
