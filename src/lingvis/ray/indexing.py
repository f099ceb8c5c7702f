"""Reading and embedding of picture files on a cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lingvis.collection.stores.contract import Header
from lingvis.collection.writer.scan import Found
from lingvis.collection.writer.workers import Here, Outcome
from lingvis.errors import UserError
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import Answer, answer, each_batch
from lingvis.ray.hashes import HashSet
from lingvis.ray.pool import Pool


class ClusterWorkers:
    """The `Workers` of an indexer, on other machines or in other processes of this one."""

    def __init__(self, cluster: Cluster, header: Header, device: str | None) -> None:
        self._pool: Pool[list[Found]] = Pool(cluster, Loader(header), device=device)

    def batches(
        self, files: Sequence[Found], *, batch_size: int, seen: Collection[str]
    ) -> Iterator[list[tuple[Found, Outcome]]]:
        """Files with what became of them, in order."""
        if not files:
            return
        done = each_batch(
            self._pool, files, HashSet(seen), batch_size=batch_size, path=lambda file: file.path
        )
        for batch, results in done:
            yield list(zip(batch, results, strict=True))


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads the model on a worker, from its folder: the pictures have to be at their paths there, too."""

    header: Header

    def __call__(self, threads: int, device: str) -> Callable[[list[Found], HashSet], Answer[Outcome]]:
        """What a worker does with a batch of files, given the contents that need no embedding."""
        import torch

        from lingvis.collection.binding import PictureSide, describe
        from lingvis.model.embedder import Embedder

        torch.set_num_threads(threads)
        run, host = Path(self.header.model), socket.gethostname()
        if not run.is_dir():
            raise UserError(
                f"there is no model at {run} on {host}; every machine of a Ray cluster needs the model and the "
                "pictures at the same path, so share their folders among them (NFS, for instance)"
            )
        embedder = Embedder.load(run, device=device)
        if describe(embedder, run).image_fingerprint != self.header.image_fingerprint:
            raise UserError(f"the model at {run} on {host} is another one than here; copy it there")
        here = Here(PictureSide(embedder), threads=threads)

        def work(files: list[Found], seen: HashSet) -> Answer[Outcome]:
            (batch,) = here.batches(files, batch_size=len(files), seen=seen)
            return answer([file.path for file in files], [outcome for _, outcome in batch])

        return work
