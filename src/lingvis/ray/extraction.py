"""Feature extraction on a cluster."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lingvis.data.video.sampling import Sampling
from lingvis.errors import UserError
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.encode import FeatureSet, PictureEncoder, PictureFile
from lingvis.features.kinds import POOLED
from lingvis.features.pictures import BrokenPicture
from lingvis.features.preprocessing import Preprocessing
from lingvis.hardware import keep_memory
from lingvis.ray.cluster import Cluster
from lingvis.ray.files import WorkerReply, each_batch, reply
from lingvis.ray.pool import WorkerPool

Outcome = FeatureSet | BrokenPicture


class ClusterEncoder:
    """Encodes like a given encoder, on a cluster."""

    def __init__(self, cluster: Cluster, encoder: PictureEncoder, *, device: str | None = None) -> None:
        self.dim, self.preprocessing = encoder.dim, encoder.preprocessing
        loader = BackboneLoader(
            encoder.backbone.name,
            encoder.kind,
            encoder.regions or POOLED,
            encoder.sampling,
            self.dim,
            self.preprocessing,
        )
        self._pool: WorkerPool[list[PictureFile]] = WorkerPool(cluster, loader, device=device)

    def batches(self, files: Sequence[PictureFile], *, batch_size: int) -> Iterator[list[Outcome]]:
        """Encode in order, `batch_size` pictures at a time; an unreadable picture yields its error."""
        done = each_batch(self._pool, files, batch_size, batch_size=batch_size, path=lambda f: str(f.path))
        for _, results in done:
            yield results


@dataclass(frozen=True, slots=True)
class BackboneLoader:
    """Loads the backbone on a worker, by its name."""

    backbone: str
    kind: str
    regions: str
    sampling: Sampling
    dim: int
    preprocessing: Preprocessing

    def __call__(self, threads: int, device: str) -> Callable[[list[PictureFile], int], WorkerReply[Any]]:
        """Return the function that a worker runs per batch of files."""
        import torch

        from lingvis.features.backbones import load_backbone

        keep_memory()
        torch.set_num_threads(threads)
        encoder = PictureEncoder(
            load_backbone(self.backbone, device=device),
            kind=self.kind,
            regions=self.regions,
            sampling=self.sampling,
        )
        if (encoder.dim, encoder.preprocessing) != (self.dim, self.preprocessing):
            raise UserError(
                f"backbone {self.backbone} on {socket.gethostname()} differs from the version here; install the same "
                "packages on all machines of the cluster"
            )

        decoders = DecoderPool()

        def work(files: list[PictureFile], batch_size: int) -> WorkerReply[Any]:
            batches = encoder.batches(files, batch_size=batch_size, threads=threads, decoders=decoders)
            return reply([str(file.path) for file in files], list(chain(*batches)))

        return work
