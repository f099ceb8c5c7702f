"""Extract the features of a dataset into a store; resumable at any moment."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from lingvis.data.dataset import Dataset
from lingvis.data.rows import PictureProblem
from lingvis.data.video.sampling import Sampling
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, load_backbone
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.encode import FeatureSet, PictureEncoder, PictureFile
from lingvis.features.kinds import POOLED, check_kind
from lingvis.features.manifest import FeatureOrigin
from lingvis.features.names import store_name
from lingvis.features.partial import PartialStore, one_extraction
from lingvis.features.pictures import BrokenPicture
from lingvis.features.preprocessing import Preprocessing
from lingvis.features.recorder import Recorder
from lingvis.features.store import FeatureStore
from lingvis.progress import ProgressBar

BATCH, GPU_BATCH = 32, 128
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FeatureEncoder(Protocol):
    """Turns pictures into vectors, on this machine or on a cluster."""

    @property
    def dim(self) -> int: ...

    @property
    def preprocessing(self) -> Preprocessing: ...

    def batches(
        self, files: Sequence[PictureFile], *, batch_size: int
    ) -> Iterator[list[FeatureSet | BrokenPicture]]:
        """The vectors of the pictures in order, batch by batch."""
        ...


class LocalEncoder:
    """A PictureEncoder whose pictures are decoded by decoder processes."""

    def __init__(self, encoder: PictureEncoder, decoders: DecoderPool, *, threads: int | None = None) -> None:
        self.dim, self.preprocessing = encoder.dim, encoder.preprocessing
        self._encoder, self._decoders, self._threads = encoder, decoders, threads

    def batches(
        self, files: Sequence[PictureFile], *, batch_size: int
    ) -> Iterator[list[FeatureSet | BrokenPicture]]:
        """The vectors of the pictures in order, batch by batch."""
        return self._encoder.batches(
            files,
            batch_size=batch_size,
            threads=self._threads,
            decoders=self._decoders,
        )


def extract(
    dataset: Dataset | Path | str,
    *,
    backbone: str | Backbone = "efficientnet-lite0",
    kind: str = "grid",
    regions: str = POOLED,
    detections: str | None = None,
    every: float | None = None,
    skip_broken: bool = False,
    batch_size: int | None = None,
    device: str | None = None,
    name: str | None = None,
    spread: Callable[[PictureEncoder], FeatureEncoder] | None = None,
) -> FeatureStore:
    """Run every picture of the dataset through the backbone and store the vectors in features/<name>/.

    kind: `global` stores one vector per picture, `grid` one per grid cell, `region` one per region; `pixels` stores
    the picture as the backbone takes it, for recipes that train the backbone; `frames` one per frame of a video, with its
    second.
    regions: for kind region, `crop` encodes each box as a picture, `pooled` averages the grid cells it covers.
    detections: for kind region, the detections to use instead of the regions of the rows.
    every: for kind frames, the seconds between two frames; by default a frame per scene is taken.
    skip_broken: list pictures that cannot be read in the manifest and leave them out, instead of raising.
    batch_size: pictures that pass the backbone together, by default 32 on a CPU and 128 on a GPU.
    device: cpu or cuda; a GPU is used when there is one.
    name: BACKBONE-KIND by default. spread: returns an encoder that does the same work elsewhere, as on a cluster.

    A complete store that still matches the dataset is returned at once; an interrupted extraction is resumed.
    """
    dataset = Dataset.open(dataset)
    if not dataset.images_dir.is_dir():
        raise UserError(
            f"{dataset.path} has no images/ folder, only stored features; extraction needs the pictures"
        )
    if batch_size is not None and batch_size < 1:
        raise UserError(f"batch_size must be at least 1, got {batch_size}")
    checked_kind, region_mode = check_kind(kind, regions)
    if kind == "region":
        dataset = dataset.with_regions(detections)
    elif detections is not None:
        raise UserError(
            f"detections {detections!r} have no effect on features of kind {kind}; use kind region"
        )
    if every is not None and kind != "frames":
        raise UserError(f"every {every} has no effect on features of kind {kind}; use kind frames")
    sampling = Sampling(every)
    backbone_name = backbone if isinstance(backbone, str) else backbone.name
    usual_name = store_name(backbone_name, kind if detections is None else f"{kind}-{detections}")
    target = dataset.features_dir / (name or usual_name)
    if target.parent != dataset.features_dir or target.name.startswith("."):
        raise UserError(f"bad name {name!r} for features; use a plain folder name such as mine-grid")
    origin = FeatureOrigin(
        backbone=backbone_name,
        kind=checked_kind,
        regions=region_mode,
        pictures=digest(dataset, boxes=kind == "region"),
        every=every,
    )
    with _reported_disk_space(target), one_extraction(target):
        if target.exists():
            stored = FeatureStore.open(target)
            if stored.manifest.origin == origin:
                return stored
            _check_replaceable(stored, origin)
        network = load_backbone(backbone, device=device) if isinstance(backbone, str) else backbone
        encoder = PictureEncoder(network, kind=kind, regions=regions, sampling=sampling)
        with DecoderPool() as decoders:
            _fill(
                dataset,
                spread(encoder) if spread else LocalEncoder(encoder, decoders),
                target,
                origin,
                skip_broken=skip_broken,
                batch_size=batch_size or (GPU_BATCH if network.device.type == "cuda" else BATCH),
            )
    return FeatureStore.open(target)


def _fill(
    dataset: Dataset,
    encoder: FeatureEncoder,
    target: Path,
    origin: FeatureOrigin,
    *,
    skip_broken: bool,
    batch_size: int,
) -> None:
    """Encode the pictures that are not stored yet and finish the store."""
    names = [row.image for row in dataset.rows]
    files = [
        PictureFile(dataset.images_dir / row.image, [r.box for r in row.regions]) for row in dataset.rows
    ]
    partial = PartialStore(
        target, origin=origin, preprocessing=encoder.preprocessing, dim=encoder.dim, pictures=len(names)
    )
    try:
        done = partial.done
        with (
            ProgressBar(f"features {target.name}", len(names), done=done) as bar,
            Recorder(partial) as recorder,
        ):
            for batch in encoder.batches(files[done:], batch_size=batch_size):
                results = zip(names[done : done + len(batch)], batch, strict=True)
                broken = [
                    PictureProblem(image=name, reason=str(result))
                    for name, result in results
                    if isinstance(result, BrokenPicture)
                ]
                if broken and not skip_broken:
                    raise _broken_error(dataset, broken[0])
                recorder.record([result for result in batch if isinstance(result, FeatureSet)], broken)
                done += len(batch)
                bar.advance(len(batch))
        skipped = {problem.image for problem in partial.broken}
        if len(skipped) == len(names):
            raise UserError(
                f"none of the {len(names)} pictures of {dataset.path} can be read: {partial.broken[0].reason}; "
                "check its folder images/"
            )
        partial.finish([name for name in names if name not in skipped])
    finally:
        partial.close()


def digest(dataset: Dataset, *, boxes: bool) -> str:
    """SHA-256 of the names, the file sizes and, with `boxes`, the boxes of the pictures."""
    digest = hashlib.sha256()
    for row in dataset.rows:
        file = dataset.images_dir / row.image
        entry: list[object] = [row.image, file.stat().st_size if file.is_file() else None]
        if boxes:
            entry.append([region.box for region in row.regions])
        digest.update(json.dumps(entry).encode() + b"\n")
    return digest.hexdigest()


def _check_replaceable(stored: FeatureStore, origin: FeatureOrigin) -> None:
    """Raise unless the stored features have the same options; it may be impossible to make others again."""
    old, new = (
        description.model_dump(exclude={"pictures"}) for description in (stored.manifest.origin, origin)
    )
    if old != new:
        raise UserError(
            f"{stored.path} holds {old['kind']} features of {old['backbone']} made with other options; "
            f"choose another name or delete the folder"
        )


def _broken_error(dataset: Dataset, broken: PictureProblem) -> UserError:
    return UserError(
        f"picture {dataset.images_dir / broken.image} cannot be used: {broken.reason}; fix it, or set skip_broken "
        f"to leave such pictures out (finished work is kept)"
    )


@contextlib.contextmanager
def _reported_disk_space(target: Path) -> Iterator[None]:
    """Raise a UserError when the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise UserError(
            f"no space left on the disk for {target}; free some and run again, finished work is kept"
        ) from error
