"""Reading and encoding of picture files on a cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from lingvis.collection.stores.contract import RowWriter
from lingvis.collection.stores.records import Header
from lingvis.collection.writer.found import Files, ScannedFile
from lingvis.collection.writer.workers import Direct, LocalWorkers, Outcome
from lingvis.errors import UserError
from lingvis.hardware import keep_memory
from lingvis.pretrained import from_reference
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import WorkerReply, each_batch, reply
from lingvis.ray.hashes import HashSet
from lingvis.ray.pool import WorkerPool
from lingvis.ray.rows import write_rows

# Where workers write rows, each task makes one file of them. Below 256 rows per file, small files would be merged again and
# again; but a short pass still has this number of tasks, so that all workers have some.
ROWS_PER_FILE, LEAST_TASKS = 256, 64

Task = tuple[ScannedFile, bool]  # a file, and whether the worker may write its row


def task_size(batch_size: int, count: int) -> int:
    """Return the number of files of a task where workers write rows, given the number of all files."""
    return max(batch_size, min(ROWS_PER_FILE, count // LEAST_TASKS))


class ClusterWorkers:
    """The workers of an indexer, on a cluster."""

    def __init__(self, cluster: Cluster, header: Header, *, device: str | None = None) -> None:
        self._pool: WorkerPool[list[Task]] = WorkerPool(cluster, ModelLoader(header), device=device)

    def batches(
        self, files: Files, *, batch_size: int, seen: Collection[str], direct: Direct | None = None
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, in order."""
        if not len(files):
            return
        done = each_batch(
            self._pool,
            ((file, direct is not None and direct.allows(file)) for file in files),
            HashSet(seen),
            batch_size,
            None if direct is None else direct.writer,
            batch_size=batch_size if direct is None else task_size(batch_size, len(files)),
            path=lambda task: task[0].path,
        )
        for batch, results in done:
            yield [(file, result) for (file, _), result in zip(batch, results, strict=True)]


@dataclass(frozen=True, slots=True)
class ModelLoader:
    """Loads the model on a worker, from its folder; model and pictures must have the same paths there."""

    header: Header

    def __call__(
        self, threads: int, device: str
    ) -> Callable[[list[Task], HashSet, int, RowWriter | None], WorkerReply[Outcome]]:
        """Return the function that a worker runs per task, given the hashes of stored contents."""
        from lingvis.collection.binding import ImageEmbedder, describe
        from lingvis.features.decoding.pool import DecoderPool
        from lingvis.model.encoder import load_encoder

        run, host = from_reference(self.header.model), socket.gethostname()
        if not run.is_dir():
            raise UserError(
                f"there is no model at {run} on {host}; every machine of a Ray cluster needs the model and the "
                "pictures at the same path, so share their folders among them (NFS, for instance)"
            )
        keep_memory()
        embedder = load_encoder(run, device=device, threads=threads)
        if describe(embedder, run).image_fingerprint != self.header.image_fingerprint:
            raise UserError(
                f"the model at {run} on {host} differs from the one on this machine; copy it there"
            )
        workers = LocalWorkers(ImageEmbedder(embedder), threads=threads, decoders=DecoderPool())

        def work(
            tasks: list[Task], seen: HashSet, batch_size: int, writer: RowWriter | None
        ) -> WorkerReply[Outcome]:
            files = [file for file, _ in tasks]
            outcomes = dict(chain(*workers.batches(files, batch_size=batch_size, seen=seen)))
            results = [outcomes[file] for file in files]
            if writer is not None:
                results = write_rows(files, results, [may for _, may in tasks], writer)
            return reply([file.path for file in files], results)

        return work
