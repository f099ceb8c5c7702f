"""Measures one engine: it is filled in one process and searched in another, whose memory is that of a search."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.arrays import Floats
from lingvis.progress import ProgressBar
from studies.search.data import CHUNK, Ints, least_scores, only_first, recall
from studies.search.engines import ENGINES, Engine, OurStore
from studies.search.memory import PeakMemory, folder_mb, memory_mb

K = 10
QUERIES, WARM_UP = 200, 10
BATCH, BATCHES = 100, 10
SECONDS = 60.0  # for single queries, and again for batches; slow engines get fewer
FEWEST, FEWEST_BATCHES = 20, 1
SHARES = (0.1, 0.01)  # of the rows that pass a filter
FILTERED = 50  # queries with a filter


def measure_engine(name: str, folder: Path, vectors: Path, queries: Floats, least: Floats) -> dict[str, Any]:
    """Seconds to add and to index, milliseconds of queries, recall@10, MB in memory and on the disk.

    queries: float32 [QUERIES + WARM_UP, dim]; least: the score of the tenth best row of each.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        built = fresh.submit(_build, name, folder, vectors).result()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        times, rows, filtered = fresh.submit(
            _search, name, folder, queries, len(np.load(vectors, mmap_mode="r"))
        ).result()
    share = recall(vectors, queries[: len(rows)], rows, least[: len(rows)], K)
    for each in filtered:
        found = each.pop("found")
        asked = queries[: len(found)]
        few = least_scores(vectors, asked, K, among=each["rows"])
        each["recall_at_10"] = round(recall(vectors, asked, found, few, K), 4)
    numbers = {**built, **times, "recall_at_10": round(share, 4), "disk_mb": round(folder_mb(folder), 1)}
    return numbers | ({"filtered": filtered} if filtered else {})


def milliseconds(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of seconds."""
    return {
        "p50": round(1000 * float(np.percentile(times, 50)), 3),
        "p95": round(1000 * float(np.percentile(times, 95)), 3),
    }


def _build(name: str, folder: Path, vectors: Path) -> dict[str, Any]:
    """Fill an engine, one slice of the vectors after the other."""
    rows, dim = np.load(vectors, mmap_mode="r").shape
    engine = ENGINES.get(name)(folder, dim)
    adding = 0.0
    with PeakMemory(engine.processes) as memory:
        with ProgressBar(f"{name}: add", rows) as bar:
            for start in range(0, rows, CHUNK):
                # Mapped again for each part, so that pages of earlier parts do not count as memory of this process.
                part = np.array(np.load(vectors, mmap_mode="r")[start : start + CHUNK])
                began = time.perf_counter()
                engine.add(part, start)
                adding += time.perf_counter() - began
                bar.advance(len(part))
        began = time.perf_counter()
        engine.index()
        indexing = time.perf_counter() - began
    engine.close()
    return {
        "add_seconds": round(adding, 2),
        "index_seconds": round(indexing, 2),
        "build_peak_mb": round(memory.peak, 1),
    }


def _search(
    name: str, folder: Path, queries: Floats, count: int
) -> tuple[dict[str, Any], list[Ints], list[dict[str, Any]]]:
    """Open an engine as a search does, and time queries; the last queries warm it up. count: of its rows."""
    empty = memory_mb([os.getpid()])
    began = time.perf_counter()
    engine = ENGINES.get(name)(folder, queries.shape[1])
    engine.search(queries[-1:], K)
    first = time.perf_counter() - began
    if isinstance(engine, OurStore):
        engine.hold(queries)
    for number in range(WARM_UP):
        engine.search(queries[-1 - number :][:1], K)
    times, rows = _one_by_one(engine, queries[:QUERIES])
    in_batches = _batches(engine, queries[:BATCH])
    memory = memory_mb(engine.processes)
    filtered = _filtered(engine, queries[:FILTERED], count) if isinstance(engine, OurStore) else []
    engine.close()
    numbers = {
        "opened_and_first_answer_seconds": round(first, 2),
        "queries": len(times),
        "single_ms": milliseconds(times),
        "batches": len(in_batches),
        "batch_of_100_ms": milliseconds(in_batches),
        "memory_mb": round(memory, 1),
        "memory_before_opening_mb": round(empty, 1),
    }
    return numbers, rows, filtered


def _filtered(engine: OurStore, queries: Floats, count: int) -> list[dict[str, Any]]:
    """Recall and time where a filter leaves a share of the rows."""
    results = []
    for share in SHARES:
        passing = max(K, int(share * count))
        where = only_first(passing)
        began = time.perf_counter()
        engine.search(queries[-1:], K, where)
        first = round(1000 * (time.perf_counter() - began), 3)
        times, found = [], []
        for query in queries:
            began = time.perf_counter()
            found += engine.search(query[None], K, where)
            times.append(time.perf_counter() - began)
        results.append(
            {"share": share, "rows": passing, "first_ms": first, "ms": milliseconds(times), "found": found}
        )
    return results


def _one_by_one(engine: Engine, queries: Floats) -> tuple[list[float], list[Ints]]:
    times: list[float] = []
    rows: list[Ints] = []
    for query in queries:
        began = time.perf_counter()
        rows += engine.search(query[None], K)
        times.append(time.perf_counter() - began)
        if len(times) >= FEWEST and sum(times) > SECONDS:
            break
    return times, rows


def _batches(engine: Engine, queries: Floats) -> list[float]:
    times: list[float] = []
    while len(times) < BATCHES and (len(times) < FEWEST_BATCHES or sum(times) < SECONDS):
        began = time.perf_counter()
        engine.search(queries, K)
        times.append(time.perf_counter() - began)
    return times
