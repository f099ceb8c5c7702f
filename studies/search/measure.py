"""Measures one engine: filling it in one process, asking it in another, so that memory is that of a search."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from lingvis.collection.stores.records import Floats
from lingvis.progress import ProgressBar
from studies.search.data import CHUNK, Ints, recall
from studies.search.engines import ENGINES, Engine
from studies.search.memory import PeakMemory, folder_mb, memory_mb

K = 10
QUESTIONS, WARM_UP = 200, 10
BATCH, BATCHES = 100, 10
SECONDS = 60.0  # for the questions one by one, and again for the batches; slow engines are asked fewer
FEWEST, FEWEST_BATCHES = 20, 1


def measure_engine(
    name: str, folder: Path, vectors: Path, questions: Floats, least: Floats
) -> dict[str, Any]:
    """Seconds to add and to index, milliseconds of questions, recall@10, MB in memory and on the disk.

    questions: float32 [QUESTIONS + WARM_UP, dim]; least: the score that the tenth best row of each reaches.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        built = fresh.submit(_build, name, folder, vectors).result()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        asked, rows = fresh.submit(_ask, name, folder, questions).result()
    found = recall(vectors, questions[: len(rows)], rows, least[: len(rows)], K)
    return {**built, **asked, "recall_at_10": round(found, 4), "disk_mb": round(folder_mb(folder), 1)}


def milliseconds(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of seconds."""
    return {
        "p50": round(1000 * float(np.percentile(times, 50)), 3),
        "p95": round(1000 * float(np.percentile(times, 95)), 3),
    }


def _build(name: str, folder: Path, vectors: Path) -> dict[str, Any]:
    """Fill an engine; a slice of the vectors at a time."""
    rows, dim = np.load(vectors, mmap_mode="r").shape
    engine = ENGINES.get(name)(folder, dim)
    adding = 0.0
    with PeakMemory(engine.processes) as memory:
        with ProgressBar(f"{name}: add", rows) as bar:
            for start in range(0, rows, CHUNK):
                # Mapped anew for each part: what was read does not stay with this process.
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


def _ask(name: str, folder: Path, questions: Floats) -> tuple[dict[str, Any], list[Ints]]:
    """Open an engine as a search does, and ask; the last questions warm it up."""
    empty = memory_mb([os.getpid()])
    began = time.perf_counter()
    engine = ENGINES.get(name)(folder, questions.shape[1])
    engine.search(questions[-1:], K)
    first = time.perf_counter() - began
    for number in range(WARM_UP):
        engine.search(questions[-1 - number :][:1], K)
    times, rows = _one_by_one(engine, questions[:QUESTIONS])
    in_batches = _batches(engine, questions[:BATCH])
    memory = memory_mb(engine.processes)
    engine.close()
    asked = {
        "opened_and_first_answer_seconds": round(first, 2),
        "questions": len(times),
        "single_ms": milliseconds(times),
        "batches": len(in_batches),
        "batch_of_100_ms": milliseconds(in_batches),
        "memory_mb": round(memory, 1),
        "memory_before_opening_mb": round(empty, 1),
    }
    return asked, rows


def _one_by_one(engine: Engine, questions: Floats) -> tuple[list[float], list[Ints]]:
    times: list[float] = []
    rows: list[Ints] = []
    for question in questions:
        began = time.perf_counter()
        rows += engine.search(question[None], K)
        times.append(time.perf_counter() - began)
        if len(times) >= FEWEST and sum(times) > SECONDS:
            break
    return times, rows


def _batches(engine: Engine, questions: Floats) -> list[float]:
    times: list[float] = []
    while len(times) < BATCHES and (len(times) < FEWEST_BATCHES or sum(times) < SECONDS):
        began = time.perf_counter()
        engine.search(questions, K)
        times.append(time.perf_counter() - began)
    return times
