"""Reading and encoding of picture files on a cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from lingvis.collection.stores.records import Header
from lingvis.collection.writer.found import Files, ScannedFile
from lingvis.collection.writer.workers import LocalWorkers, Outcome
from lingvis.errors import UserError
from lingvis.pretrained import from_reference
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import WorkerReply, each_batch, reply
from lingvis.ray.hashes import HashSet
from lingvis.ray.pool import WorkerPool


class ClusterWorkers:
    """The workers of an indexer, on a cluster."""

    def __init__(self, cluster: Cluster, header: Header, *, device: str | None = None) -> None:
        self._pool: WorkerPool[list[ScannedFile]] = WorkerPool(cluster, ModelLoader(header), device=device)

    def batches(
        self, files: Files, *, batch_size: int, seen: Collection[str]
    ) -> Iterator[list[tuple[ScannedFile, Outcome]]]:
        """Yield files and their outcomes, in order."""
        if not len(files):
            return
        done = each_batch(
            self._pool, files, HashSet(seen), batch_size=batch_size, path=lambda file: file.path
        )
        for batch, results in done:
            yield list(zip(batch, results, strict=True))


@dataclass(frozen=True, slots=True)
class ModelLoader:
    """Loads the model on a worker, from its folder; model and pictures must have the same paths there."""

    header: Header

    def __call__(
        self, threads: int, device: str
    ) -> Callable[[list[ScannedFile], HashSet], WorkerReply[Outcome]]:
        """Return the function that a worker runs per batch of files, given the hashes of stored contents."""
        from lingvis.collection.binding import ImageEmbedder, describe
        from lingvis.features.decoding.pool import DecoderPool
        from lingvis.model.encoder import load_encoder

        run, host = from_reference(self.header.model), socket.gethostname()
        if not run.is_dir():
            raise UserError(
                f"there is no model at {run} on {host}; every machine of a Ray cluster needs the model and the "
                "pictures at the same path, so share their folders among them (NFS, for instance)"
            )
        embedder = load_encoder(run, device=device, threads=threads)
        if describe(embedder, run).image_fingerprint != self.header.image_fingerprint:
            raise UserError(
                f"the model at {run} on {host} differs from the one on this machine; copy it there"
            )
        workers = LocalWorkers(ImageEmbedder(embedder), threads=threads, decoders=DecoderPool())

        def work(files: list[ScannedFile], seen: HashSet) -> WorkerReply[Outcome]:
            outcomes = dict(chain(*workers.batches(files, batch_size=len(files), seen=seen)))
            return reply([file.path for file in files], [outcomes[file] for file in files])

        return work
