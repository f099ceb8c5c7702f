"""The best rows of a query among all rows: a scan over 8-bit codes, then a comparison of the candidates in full."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.hardware import core_count

Halves = NDArray[np.float16]
Rows = NDArray[np.intp]
Codes = NDArray[np.int8]
BLOCK = 256  # rows whose largest score stands for them in the search for a bound
CHUNK = 65_536  # rows whose codes are one matrix, so that their products fit into the processor's cache
CONVERTED = 16_384  # rows that are converted at a time
TOGETHER, PRODUCTS = (
    32,
    2**25,
)  # the most queries that read the codes together, and the most products of these in memory
FEW = 64  # from this many rows per allowed one on, the vectors of the allowed ones are compared
LARGEST, LARGEST_OF_QUERY = 127, 63  # of a code; two products of these two always fit into 16 bits
SHIFT = 64  # makes the code of a query positive: older processors multiply unsigned with signed numbers only
ROUNDING = 2**-23  # per dimension: more than single precision rounds a product of unit vectors
# All numbers of half precision in single precision: looking one up takes a quarter of the time of numpy's conversion.
_SINGLE = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
# An ONNX graph of one operator, MatMulInteger: q, unsigned [queries, dim], times c, signed [dim, rows]. It uses the
# processor's instructions for 8-bit numbers, which numpy does not.
GRAPH = (
    b'\x08\x08\x12\x00:>\n\x18\n\x01q\n\x01c\x12\x01p"\rMatMulInteger\x12\x01gZ\t\n\x01q\x12\x04\n\x02\x08\x02'
    b"Z\t\n\x01c\x12\x04\n\x02\x08\x03b\t\n\x01p\x12\x04\n\x02\x08\x06B\x04\n\x00\x10\r"
)


class VectorScan:
    """Unit vectors, float16 [rows, dim], each with a code: whole numbers of 8 bits, and what one of them is worth.

    Memory speed limits a query, and codes are half as long as vectors. No row is lost by them: a product with codes
    differs from the true one by at most a known bound, so that every row within twice of that of the best ones is compared
    again in double precision. Codes are made of rotated vectors, whose products are the same: a large value in one
    dimension would make the code of all others coarse, and a rotation spreads it.
    """

    def __init__(self, vectors: Halves) -> None:
        self._vectors, self._rotation = vectors, _rotation(vectors.shape[1])
        self._rounding = ROUNDING * vectors.shape[1]
        self._codes: list[Codes] = []  # [dim, rows of a chunk]
        self._shifts = np.empty(len(vectors), np.int32)  # the product of a code with SHIFT in each dimension
        self._units = np.empty(len(vectors), np.float32)
        self._rest = self._length = 0.0  # the largest norm of what codes leave out, and of what they keep
        for begin in range(0, len(vectors), CHUNK):
            end = min(begin + CHUNK, len(vectors))
            codes = np.empty((vectors.shape[1], end - begin), np.int8)
            for start in range(begin, end, CONVERTED):
                part = slice(start, min(start + CONVERTED, end))
                rotated = _SINGLE[vectors.view(np.uint16)[part]] @ self._rotation
                of_part, self._units[part], rest, length = _encode(rotated, LARGEST)
                codes[:, start - begin : part.stop - begin] = of_part.T
                self._shifts[part] = SHIFT * of_part.sum(axis=1, dtype=np.int32)
                self._rest, self._length = max(self._rest, rest), max(self._length, length)
            self._codes.append(codes)

    def __len__(self) -> int:
        return len(self._vectors)

    def best(self, query: Floats, count: int, among: Rows | None = None) -> tuple[Rows, NDArray[np.float64]]:
        """Return at least the `count` best rows with their products, in any order: all rows as good as the last of them.

        query: float32 [dim]; among: the rows that are allowed, by default all.
        """
        return next(self.each_best(query[None], count, among))

    def each_best(
        self, queries: Floats, count: int, among: Rows | None = None
    ) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
        """Yield the same for each query; queries: float32 [queries, dim]. Several read the codes together."""
        count = min(count, len(self) if among is None else len(among))
        together = min(TOGETHER, max(1, PRODUCTS // max(1, len(self))))
        for start in range(0, len(queries), together):
            some = queries[start : start + together]
            if count == 0:
                products, errors = np.empty((len(some), 0), np.float32), np.zeros(len(some), np.float32)
            elif among is not None and FEW * len(among) < len(self):
                products, errors = self._single(among, some), np.full(len(some), self._rounding, np.float32)
            else:
                products, errors = self._rough(some)
                products = products if among is None else np.take(products, among, axis=1)
            for query, of_rows, error in zip(some, products, errors, strict=True):
                yield self._exact(query, count, of_rows, error, among)

    def _exact(
        self, query: Floats, count: int, products: Floats, error: np.float32, among: Rows | None
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Return the best rows, given a product of each allowed row within an error."""
        if count == 0:
            return np.empty(0, np.intp), np.empty(0)
        candidates = np.flatnonzero(products >= _least(products, count) - 2 * error)
        if among is not None:
            candidates = among[candidates]
        (single,) = self._single(candidates, query[None])  # so that fewer are compared in double precision
        candidates = candidates[single >= _least(single, count) - 2 * self._rounding]
        exact = self._double(candidates, query)
        good = exact >= np.partition(exact, len(exact) - count)[len(exact) - count]
        return candidates[good], exact[good]

    def _rough(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the products of the codes of queries and rows [queries, rows], and a bound of their error per query.

        Both are in units of the code of the query.
        """
        code, units, rest, _ = _encode(queries @ self._rotation, LARGEST_OF_QUERY)
        shifted = (code + SHIFT).astype(np.uint8)
        products, multiply = np.empty((len(queries), len(self)), np.float32), _multiplication()

        def scan(begin: int) -> None:
            codes = self._codes[begin // CHUNK]
            part = slice(begin, begin + codes.shape[1])
            (found,) = multiply(None, {"q": shifted, "c": codes})
            np.subtract(found, self._shifts[part], out=found)
            products[:, part] = found
            products[:, part] *= self._units[part]

        begins = range(0, len(self), CHUNK)
        with _scanning() as alone:
            for _ in _pool().map(scan, begins) if alone and len(begins) > 1 else map(scan, begins):
                pass
        # By Cauchy and Schwarz: what the code of a row leaves out, and what the code of the query leaves out.
        errors = np.linalg.norm(queries, axis=1) * self._rest + rest * self._length + self._rounding
        return products, (errors / units).astype(np.float32)

    def _single(self, rows: Rows, queries: Floats) -> Floats:
        """Return the products of queries and rows [queries, rows], in single precision."""
        return np.concatenate(
            [queries @ _SINGLE[self._vectors.view(np.uint16)[part]].T for part in _parts(rows)], axis=1
        )

    def _double(self, rows: Rows, query: Floats) -> NDArray[np.float64]:
        """Return the same in double precision.

        Row by row: in one product of matrices, copies of a picture may differ in the last digit.
        """
        return np.concatenate(
            [
                (_SINGLE[self._vectors.view(np.uint16)[part]] * query.astype(np.float64)).sum(axis=1)
                for part in _parts(rows)
            ]
        )


_lock, _scans = threading.Lock(), 0


@contextmanager
def _scanning() -> Iterator[bool]:
    """Yield whether no other search of this process scans; if one does, the cores are busy, and more threads only cost."""
    global _scans
    with _lock:
        _scans += 1
        alone = _scans == 1
    try:
        yield alone
    finally:
        with _lock:
            _scans -= 1


@cache
def _rotation(dim: int) -> Floats:
    """Return a random orthogonal matrix, float32 [dim, dim], always the same one."""
    drawn = np.random.default_rng(0).standard_normal((dim, dim))
    return np.linalg.qr(drawn)[0].astype(np.float32)


def _parts(rows: Rows) -> list[Rows]:
    return [rows[begin : begin + CONVERTED] for begin in range(0, len(rows), CONVERTED)]


def _encode(vectors: Floats, largest: int) -> tuple[Codes, Floats, float, float]:
    """Return codes, units, and the largest norm of the rest and of the codes; vectors: float32 [rows, dim]."""
    if not np.isfinite(vectors).all():
        raise ValueError("an embedding has values that are not numbers")
    units = np.abs(vectors).max(axis=1) / largest
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


@cache
def _multiplication() -> Any:
    """Return the product of matrices, on one core."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(GRAPH, options, providers=["CPUExecutionProvider"]).run


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that scan, one per core, for all searches of this process."""
    return ThreadPoolExecutor(core_count(), thread_name_prefix="scan")
