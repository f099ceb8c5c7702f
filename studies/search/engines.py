"""Engines under measurement: our stores through their contract, and others with the same vectors."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lingvis.arrays import Floats
from lingvis.collection.stores.contract import Store
from lingvis.collection.stores.folder.header import Engine as FolderEngine
from lingvis.collection.stores.records import Filter
from lingvis.hardware import core_count
from lingvis.registry import Registry
from studies.search.data import Halfs, Ints, make_header, make_items, row_of
from studies.search.milvus import MilvusServer
from studies.search.postgres import SERVER, running_server

ALWAYS, NEVER = sys.maxsize, 0  # number of values up to which our stores compare with all rows
COLLECTION = "collection.lv"
ALL = Filter()
EXPANSION = 512  # candidates of usearch and faiss; with their defaults recall is far below that of our stores


class Engine(Protocol):
    """Stores vectors and finds the best rows; made in an empty folder, or opened as an earlier process left it."""

    processes: list[int]  # their memory counts, with their children

    def add(self, vectors: Halfs, first: int) -> None:
        """Store rows, numbered from `first` on."""
        ...

    def index(self) -> None:
        """Called after the last row."""
        ...

    def search(self, queries: Floats, k: int) -> list[Ints]:
        """Numbers of the best rows of each query."""
        ...

    def close(self) -> None: ...


ENGINES: Registry[Callable[[Path, int], Engine]] = Registry("engine")


class OurStore:
    """A store of a collection, as `lingvis index` and `lingvis search` use it."""

    def __init__(
        self,
        address: str,
        dim: int,
        exact_values: int | None,
        *,
        engine: FolderEngine | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        from lingvis.collection.stores.open import create_store, open_store, store_exists

        self.processes, self.close = [os.getpid()], close
        self._store: Store = (
            open_store(address, exact_values=exact_values)
            if store_exists(address)
            else create_store(address, make_header(dim), engine=engine, exact_values=exact_values)
        )

    def add(self, vectors: Halfs, first: int) -> None:
        with self._store.writing():
            self._store.upsert(make_items(vectors, first))

    def index(self) -> None:
        with self._store.writing():
            self._store.maintain()

    def hold(self, queries: Floats) -> None:
        """Search until a process that searches repeatedly has its vectors in memory."""
        from lingvis.collection.stores.postgres.held import SEARCHES_BEFORE
        from lingvis.collection.stores.postgres.store import PostgresStore

        if isinstance(self._store, PostgresStore):
            for _ in range(SEARCHES_BEFORE + 1):
                self.search(queries[:1], 1)
            self._store.wait_for_load()

    def search(self, queries: Floats, k: int, where: Filter = ALL) -> list[Ints]:
        results = self._store.search(queries, k=k, where=where)
        return [np.array([row_of(hit.id) for hit in hits], np.int64) for hits in results]


@ENGINES.register("sqlite", "our embedded store on SQLite, exact and in memory")
def sqlite(folder: Path, dim: int) -> Engine:
    return OurStore(str(folder / COLLECTION), dim, None, engine="sqlite")


@ENGINES.register("lance", "our embedded store on LanceDB, by its index")
def lance_ann(folder: Path, dim: int) -> Engine:
    return OurStore(str(folder / COLLECTION), dim, NEVER, engine="lance")


@ENGINES.register("lance-exact", "our embedded store on LanceDB, exact and in memory")
def lance_exact(folder: Path, dim: int) -> Engine:
    return OurStore(str(folder / COLLECTION), dim, ALWAYS, engine="lance")


@ENGINES.register("postgres", "our PostgreSQL store, by its index")
def postgres_ann(folder: Path, dim: int) -> Engine:
    return _on_server(folder, dim, NEVER)


@ENGINES.register("postgres-exact", "our PostgreSQL store, exact, with the vectors in memory")
def postgres_exact(folder: Path, dim: int) -> Engine:
    return _on_server(folder, dim, ALWAYS)


@ENGINES.register("milvus", "our Milvus store, by its index")
def milvus_ann(folder: Path, dim: int) -> Engine:
    return _on_milvus(folder, dim, NEVER)


@ENGINES.register("milvus-exact", "our Milvus store, exact")
def milvus_exact(folder: Path, dim: int) -> Engine:
    return _on_milvus(folder, dim, ALWAYS)


@ENGINES.register("numpy", "every row compared by numpy, single precision, in memory")
class Plain:
    """Brute force, without an engine."""

    def __init__(self, folder: Path, dim: int) -> None:
        self.processes = [os.getpid()]
        self._file, self._dim = folder / "vectors.f16", dim
        self._vectors: Floats | None = None

    def add(self, vectors: Halfs, first: int) -> None:
        with self._file.open("ab") as file:
            vectors.tofile(file)

    def index(self) -> None: ...

    def search(self, queries: Floats, k: int) -> list[Ints]:
        if self._vectors is None:
            self._vectors = np.fromfile(self._file, np.float16).reshape(-1, self._dim).astype(np.float32)
        scores = (self._vectors @ queries.T).T
        best = np.argpartition(scores, -k, axis=1)[:, -k:]
        return list(best.astype(np.int64))

    def close(self) -> None: ...


@ENGINES.register("usearch", "usearch, HNSW with half precision, in memory, saved to a file")
class Usearch:
    """A graph in memory: no rows beside the vectors, no durability."""

    def __init__(self, folder: Path, dim: int) -> None:
        from usearch.index import Index

        self.processes = [os.getpid()]
        self._file = folder / "vectors.usearch"
        self._index: Any = Index(ndim=dim, metric="ip", dtype="f16", expansion_search=EXPANSION)
        if self._file.exists():
            self._index.load(str(self._file))

    def add(self, vectors: Halfs, first: int) -> None:
        self._index.add(np.arange(first, first + len(vectors), dtype=np.uint64), vectors)

    def index(self) -> None:
        self._index.save(str(self._file))

    def search(self, queries: Floats, k: int) -> list[Ints]:
        matches = self._index.search(queries if len(queries) > 1 else queries[0], k)
        return list(np.atleast_2d(matches.keys).astype(np.int64))

    def close(self) -> None: ...


class Faiss:
    """An index of faiss in memory, saved to a file: no rows beside the vectors, no durability."""

    def __init__(self, folder: Path, dim: int, kind: str) -> None:
        import faiss

        faiss.omp_set_num_threads(core_count())
        self.processes = [os.getpid()]
        self._faiss, self._file = faiss, folder / "vectors.faiss"
        if self._file.exists():
            self._index: Any = faiss.read_index(str(self._file))
        else:
            self._index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)

    def add(self, vectors: Halfs, first: int) -> None:
        rows = vectors.astype(np.float32)
        if not self._index.is_trained:
            self._index.train(rows)
        self._index.add(rows)

    def index(self) -> None:
        self._faiss.write_index(self._index, str(self._file))

    def search(self, queries: Floats, k: int) -> list[Ints]:
        if hasattr(self._index, "hnsw"):
            self._index.hnsw.efSearch = EXPANSION
        _, rows = self._index.search(queries, k)
        return list(rows)

    def close(self) -> None: ...


@ENGINES.register("faiss-exact", "faiss, every row compared, single precision, in memory")
def faiss_exact(folder: Path, dim: int) -> Engine:
    return Faiss(folder, dim, "Flat")


@ENGINES.register("faiss", "faiss, HNSW with half precision, in memory, saved to a file")
def faiss_graph(folder: Path, dim: int) -> Engine:
    return Faiss(folder, dim, "HNSW24_SQfp16")


def _on_server(folder: Path, dim: int, exact_values: int) -> Engine:
    with contextlib.ExitStack() as stack:
        address, server = stack.enter_context(running_server(folder / SERVER))
        store = OurStore(address, dim, exact_values, close=stack.pop_all().close)
        store.processes.append(server)
    return store


def _on_milvus(folder: Path, dim: int, exact_values: int) -> Engine:
    server = MilvusServer(folder / "milvus", {})  # it ends with this process
    server.start()
    store = OurStore(server.address("study"), dim, exact_values, close=server.stop)
    store.processes.append(server.pid)
    return store
