"""Rows per second that the one writer of a collection stores, from made-up vectors, and the memory of its plan.

- batches: each batch of 64 rows in a transaction of its own, as it was before batches were joined.
- joined: batches that wait are stored together, as `lingvis index` does.
- ray-N: the same, while N workers of one core each make the vectors and thumbnails and send them.
- written-N: the same on LanceDB, but the workers write the rows and send only hashes and names of files (with pylance).
- made-N: N workers alone; their results are received and dropped.

    python -m studies writing [--rows 20000] [--rounds 3] [--workers 1 2 4]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np

from lingvis.collection.stores.contract import RowWriter
from lingvis.collection.stores.folder.header import Engine
from lingvis.collection.stores.lance.fragments import has_lance
from lingvis.collection.stores.open import create_store
from lingvis.collection.stores.records import Header, StoredFile
from lingvis.collection.writer import fill
from lingvis.collection.writer.captions import CaptionReader
from lingvis.collection.writer.contents import StoredContents
from lingvis.collection.writer.direct import find_direct, rows_version
from lingvis.collection.writer.found import Files, ScannedFile
from lingvis.collection.writer.indexer import BATCH, ROWS_BETWEEN_MAINTENANCE
from lingvis.collection.writer.items import picture_id
from lingvis.collection.writer.pictures import PictureFacts
from lingvis.collection.writer.plan import IndexPlan, make_plan
from lingvis.collection.writer.scan import FolderScan
from lingvis.collection.writer.stored import StoredRows
from lingvis.collection.writer.workers import Direct, EncodedPicture, IndexWorkers, Outcome
from lingvis.features.decoding.exif import CameraFacts
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import WorkerReply, each_batch, reply
from lingvis.ray.indexing import task_size
from lingvis.ray.pool import WorkerPool
from lingvis.ray.rows import write_rows
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

DIM = 256
THUMBNAIL_BYTES = 12_000
PLANNED = 100_000  # files
HEADER = Header(dim=DIM, image_fingerprint="i", text_fingerprint="t", model="/model", features={})


class NoCaptions:
    """A reader of captions for pictures without any."""

    languages: Sequence[str] = ("en",)

    def encode_texts(self, texts: Sequence[str], langs: Sequence[str]) -> list[Any]:
        """Return nothing, since there are no texts."""
        return []


def made_up(files: Sequence[ScannedFile], writer: RowWriter | None = None) -> WorkerReply[Outcome]:
    """The outcomes of a batch, as a worker sends them: random unit vectors and incompressible thumbnails.

    writer: writes them as rows, so that they are not sent.
    """
    results: list[Outcome] = []
    for file in files:
        rng = np.random.default_rng(file.mtime_ns)
        vector = rng.standard_normal(DIM, np.float32)
        digest = hashlib.sha256(file.path.encode()).hexdigest()
        thumbnail, signature = rng.bytes(THUMBNAIL_BYTES), rng.bytes(108)
        facts = PictureFacts(digest, 500, 375, "jpeg", CameraFacts(), thumbnail, signature)
        results.append(EncodedPicture(facts, vector / np.linalg.norm(vector)))
    if writer is not None:
        results = write_rows(files, results, [True] * len(files), writer)
    return reply([file.path for file in files], results)


def make_worker(_threads: int, _device: str) -> Callable[..., WorkerReply[Outcome]]:
    """A worker of a cluster that makes outcomes."""
    return made_up


class MadeBefore:
    """Outcomes that were made before the time is taken."""

    def __init__(self, files: Sequence[ScannedFile]) -> None:
        self._batches = []
        for start in range(0, len(files), BATCH):
            batch = files[start : start + BATCH]
            self._batches.append(list(zip(batch, made_up(batch).results, strict=True)))

    def batches(
        self, files: Files, *, batch_size: int, seen: Collection[str], direct: Direct | None = None
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield the outcomes, once."""
        batches, self._batches = self._batches, []
        yield from batches


class MadeByWorkers:
    """Outcomes that workers of a cluster make."""

    def __init__(self, cluster: Cluster) -> None:
        self._pool: WorkerPool[list[ScannedFile]] = WorkerPool(cluster, make_worker)

    def batches(
        self, files: Files, *, batch_size: int, seen: Collection[str], direct: Direct | None = None
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield the outcomes as they come."""
        for batch, results in each_batch(
            self._pool,
            files,
            None if direct is None else direct.writer,
            batch_size=batch_size if direct is None else task_size(batch_size, len(files)),
            path=lambda file: file.path,
        ):
            yield list(zip(batch, results, strict=True))


def made_up_files(count: int) -> list[ScannedFile]:
    """Files with paths of about 60 letters."""
    folder = "/shared/pictures/2024/05/holidays-at-the-sea"
    return [ScannedFile(f"{folder}/IMG_{number:08}.jpg", 10**6, number) for number in range(count)]


def stored_rate(
    target: Path,
    engine: Engine,
    workers: IndexWorkers,
    files: Sequence[ScannedFile],
    *,
    written: bool = False,
) -> tuple[float, float]:
    """Rows per second of a pass over new files, from their outcomes to the disk, and the processor seconds of this process
    per 1,000 rows; written: workers write the rows."""
    store = create_store(str(target), HEADER, engine=engine, replace=True)
    plan = IndexPlan()
    for file in files:
        plan.to_read.append(file)
    writer = fill.BatchWriter(store, workers, CaptionReader(cast(Any, NoCaptions())), batch_size=BATCH)
    start, used, changed = time.perf_counter(), time.process_time(), 0
    with store.writing():
        nothing = StoredRows([])
        direct = find_direct(store, nothing, rows_version(store)) if written else None
        assert bool(direct) == written, "rows are written by workers with pylance only"
        for batch in writer.run(plan, nothing, direct):
            changed += len(batch.items) + len(batch.written)
            if changed >= ROWS_BETWEEN_MAINTENANCE:
                changed = 0
                store.maintain()
        store.maintain()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    assert store.count() == len(files)
    return len(files) / seconds, used * 1000 / len(files)


def made_rate(workers: IndexWorkers, files: Sequence[ScannedFile]) -> float:
    """Rows per second that workers make and send."""
    start = time.perf_counter()
    count = sum(map(len, workers.batches(files, batch_size=BATCH, seen=())))
    assert count == len(files)
    return count / (time.perf_counter() - start)


def planner_bytes(count: int) -> float:
    """The most bytes per file at any moment while a pass is planned, with paths of about 60 letters."""

    def rows() -> Iterator[StoredFile]:
        for file in scan:
            digest = hashlib.sha256(file.path.encode()).hexdigest()
            yield StoredFile(picture_id(file.path), file.path, digest, file.size, file.mtime_ns, None)

    def find(file: ScannedFile) -> tuple[None, None]:
        return None, None

    tracemalloc.start()
    scan = FolderScan([])
    for file in made_up_files(count):
        scan.direct.append(file)
    tracemalloc.reset_peak()  # without the list of made-up files
    stored = StoredRows(rows())
    reader = cast(CaptionReader, SimpleNamespace(find=find))
    plan = make_plan(scan, stored, reader, unusable={}, prune=rows)
    contents = StoredContents(stored)
    peak = tracemalloc.get_traced_memory()[1] / count
    tracemalloc.stop()
    assert plan.unchanged == len(contents) == count
    return peak


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All ways in turn, in several rounds."""
    files = made_up_files(options.rows)
    rates: dict[Engine, dict[str, list[float]]] = {engine: {} for engine in get_args(Engine)}
    seconds: dict[Engine, dict[str, list[float]]] = {engine: {} for engine in get_args(Engine)}
    made: dict[str, list[float]] = {}

    def add(engine: Engine, way: str, measured: tuple[float, float]) -> None:
        rates[engine].setdefault(way, []).append(measured[0])
        seconds[engine].setdefault(way, []).append(measured[1])

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "made-up.lv"
        for _ in range(options.rounds):
            for engine in rates:
                joined_rows = fill.STORED_ROWS
                for way, rows in (("batches", 1), ("joined", joined_rows)):
                    fill.STORED_ROWS = rows
                    add(engine, way, stored_rate(target, engine, MadeBefore(files), files))
            for count in options.workers:
                with Cluster(cpus=count) as cluster:
                    workers = MadeByWorkers(cluster)
                    made_rate(workers, files[: BATCH * 4 * count])  # all of them are ready
                    made.setdefault(f"made-{count}", []).append(made_rate(workers, files))
                    for engine in rates:
                        add(engine, f"ray-{count}", stored_rate(target, engine, workers, files))
                    if has_lance():
                        rate = stored_rate(target, "lance", workers, files, written=True)
                        add("lance", f"written-{count}", rate)
    return {
        "name": "writing",
        "study": "writing",
        **origin(),
        "rows": options.rows,
        "dim": DIM,
        "thumbnail_bytes": THUMBNAIL_BYTES,
        "batch_size": BATCH,
        "joined_rows": fill.STORED_ROWS,
        "rows_per_second": {
            engine: {way: [round(rate) for rate in each] for way, each in found.items()}
            for engine, found in rates.items()
        },
        "processor_seconds_per_1000": {
            engine: {way: [round(each, 4) for each in values] for way, values in found.items()}
            for engine, found in seconds.items()
        },
        "made_per_second": {way: [round(rate) for rate in each] for way, each in made.items()},
        "writer_rows_per_second": round(statistics.median(rates["sqlite"]["joined"])),
        "planner_bytes": round(planner_bytes(PLANNED)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("writing", __doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    add_out(parser, "results/scale")
    options = parser.parse_args(arguments)
    record = measure(options)
    append(options.out / RUNS, record)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
