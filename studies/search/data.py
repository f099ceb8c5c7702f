"""Made-up collections for the study of search: clustered vectors, queries, and rows around them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.collection.stores.records import Filter, Header, Item, PictureInfo

Halfs = NDArray[np.float16]
Ints = NDArray[np.int64]
ROWS_PER_CLUSTER = 100
CHUNK = 20_000  # rows that are drawn, written and read at once
ROUNDING = 1e-5  # more than single precision loses in a product of unit vectors
FOLDER_ROWS = 1000
FIRST_SIZE = 100_000  # bytes of the first picture; each has one more than the one before
DESCRIPTION = (
    f"unit vectors, half precision; a cluster for every {ROWS_PER_CLUSTER} rows, uneven, cosine about 0.5 within one; "
    "the variance falls with the inverse of the coordinate; queries are fresh draws with as much noise again"
)


class Clustered:
    """Vectors in clusters; the same seed, size and dimension give the same ones.

    The spread of the clusters and of the rows in them falls from coordinate to coordinate, to some 35 effective
    dimensions at 1024. With the same spread everywhere no two rows would be neighbours, unlike those of any model.
    """

    def __init__(self, rows: int, dim: int, *, seed: int = 0) -> None:
        self.rows, self.dim, self.seed = rows, dim, seed
        falling = 1 / np.sqrt(np.arange(1, dim + 1, dtype=np.float32))
        self._spread = falling / np.linalg.norm(falling)
        clusters = max(1, rows // ROWS_PER_CLUSTER)
        self._centres = self._noise(np.random.default_rng([seed, 0]), clusters)

    def chunks(self) -> Iterator[Halfs]:
        """All rows, float16 [rows of the chunk, dim]."""
        for number, start in enumerate(range(0, self.rows, CHUNK)):
            rng = np.random.default_rng([self.seed, 2, number])
            yield self._draw(rng, min(CHUNK, self.rows - start)).astype(np.float16)

    def queries(self, count: int) -> Floats:
        """Queries float32 [count, dim]: like sentences, they lie farther from the rows than these from each other."""
        rng = np.random.default_rng([self.seed, 1])
        return _unit(self._draw(rng, count) + self._noise(rng, count))

    def write(self, path: Path) -> None:
        """All rows as a .npy file."""
        stored = np.lib.format.open_memmap(path, "w+", np.float16, (self.rows, self.dim))
        start = 0
        for chunk in self.chunks():
            stored[start : start + len(chunk)] = chunk
            start += len(chunk)
        stored.flush()

    def _draw(self, rng: np.random.Generator, count: int) -> Floats:
        # The square makes clusters uneven: there are more photographs of some things than of others.
        chosen = (rng.random(count) ** 2 * len(self._centres)).astype(np.int64)
        return _unit(self._centres[chosen] + self._noise(rng, count))

    def _noise(self, rng: np.random.Generator, count: int) -> Floats:
        """Random vectors with a mean length of 1."""
        drawn: Floats = rng.standard_normal((count, self.dim), dtype=np.float32)
        drawn *= self._spread
        return drawn


def least_scores(vectors: Path, queries: Floats, k: int, *, among: int | None = None) -> Floats:
    """The score of the k-th best row of each query, by comparing with all rows or the first ones, float32 [queries]."""
    stored = np.load(vectors, mmap_mode="r")[:among]
    best = np.full((len(queries), 0), -np.inf, np.float32)
    for start in range(0, len(stored), CHUNK):
        scores = queries @ stored[start : start + CHUNK].astype(np.float32).T
        best = np.concatenate([best, scores], axis=1)
        if best.shape[1] > k:
            best = np.partition(best, -k, axis=1)[:, -k:]
    least: Floats = best.min(axis=1)
    return least


def recall(vectors: Path, queries: Floats, results: Sequence[Ints], least: Floats, k: int) -> float:
    """The share of the k best rows in the results; a row as good as the k-th counts as one of them."""
    stored = np.load(vectors, mmap_mode="r")
    right = 0
    for query, rows, enough in zip(queries, results, least, strict=True):
        scores = stored[np.unique(rows)].astype(np.float32) @ query
        right += min(k, int((scores >= enough - ROUNDING).sum()))
    return right / (k * len(results))


def make_header(dim: int) -> Header:
    """The header of a collection without a model."""
    return Header(dim=dim, image_fingerprint="made", text_fingerprint="made", model="/none", features={})


def make_items(vectors: Halfs, first: int) -> list[Item]:
    """Rows of a collection around vectors, numbered from `first`; see `row_of`."""
    thumbnail = _thumbnail()
    return [
        Item(_entry(first + place), vector, thumbnail)
        for place, vector in enumerate(vectors.astype(np.float32))
    ]


def only_first(rows: int) -> Filter:
    """The filter that the first of these rows pass."""
    return Filter(max_size=FIRST_SIZE + rows - 1)


def row_of(id: str) -> int:
    """The number of the vector of an item."""
    return int(id, 16)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _entry(row: int) -> PictureInfo:
    return PictureInfo(
        id=f"{row:032x}",
        path=f"/pictures/{row // FOLDER_ROWS:04}/{row:07}.jpg",
        hash=f"{row:064x}",
        size=FIRST_SIZE + row,
        mtime_ns=1_700_000_000_000_000_000 + row,
        width=640,
        height=480,
        format="jpeg",
        date=datetime(2020, 1, 1) + timedelta(minutes=row),
    )


def _thumbnail() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (32, 24), (90, 120, 150)).save(file, "JPEG")
    return file.getvalue()
