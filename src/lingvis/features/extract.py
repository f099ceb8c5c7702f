"""Extract the features of a dataset into a store, resumable at any moment."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from lingvis.data.dataset import Dataset
from lingvis.errors import UserError
from lingvis.features.backbones import Backbone, Preprocessing, load_backbone
from lingvis.features.encode import POOLED, Encoded, PictureEncoder, PictureFile, check_kind
from lingvis.features.manifest import Broken, Origin
from lingvis.features.names import store_name
from lingvis.features.partial import Partial, exclusive
from lingvis.features.pictures import BrokenPicture
from lingvis.features.store import FeatureStore
from lingvis.progress import ProgressBar

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Encoder(Protocol):
    """What extraction asks for vectors: a PictureEncoder, or what stands for many of them elsewhere."""

    @property
    def dim(self) -> int: ...

    @property
    def preprocessing(self) -> Preprocessing: ...

    def batches(
        self, files: Sequence[PictureFile], *, batch_size: int
    ) -> Iterator[list[Encoded | BrokenPicture]]:
        """The vectors of the pictures in order, batch by batch."""
        ...


def extract(
    dataset: Dataset | Path | str,
    *,
    backbone: str | Backbone = "efficientnet-lite0",
    kind: str = "grid",
    regions: str = POOLED,
    detections: str | None = None,
    skip_broken: bool = False,
    batch_size: int = 32,
    device: str | None = None,
    name: str | None = None,
    spread: Callable[[PictureEncoder], Encoder] | None = None,
) -> FeatureStore:
    """Run every picture of the dataset through the backbone and store the vectors in features/<name>/.

    A store that is complete and still fits is returned at once; one that was interrupted goes on where it
    stopped. With skip_broken, pictures that cannot be read are listed in the manifest and left out.
    detections: for regions, whose boxes to use instead of those of the rows (`Dataset.with_regions`).
    spread: gives an encoder that does the same work elsewhere, as on a cluster.
    """
    dataset = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    if not dataset.images_dir.is_dir():
        raise UserError(
            f"{dataset.path} has no images/ folder, only stored features; there is nothing to extract"
        )
    if batch_size < 1:
        raise UserError(f"batch size {batch_size} is too small; use at least 1")
    made, how = check_kind(kind, regions)
    if kind == "region":
        dataset = dataset.with_regions(detections)
    elif detections is not None:
        raise UserError(f"detections {detections!r} have no part in features of kind {kind}; use kind region")
    title = backbone if isinstance(backbone, str) else backbone.name
    usual = store_name(title, kind if detections is None else f"{kind}-{detections}")
    target = dataset.features_dir / (name or usual)
    if target.parent != dataset.features_dir or target.name.startswith("."):
        raise UserError(f"bad name {name!r} for features; use a plain folder name such as mine-grid")
    origin = Origin(backbone=title, kind=made, regions=how, pictures=digest(dataset, boxes=kind == "region"))
    with _space(target), exclusive(target):
        if target.exists():
            stored = FeatureStore.open(target)
            if stored.manifest.origin == origin:
                return stored
            _refuse_other(stored, origin)
        network = load_backbone(backbone, device=device) if isinstance(backbone, str) else backbone
        encoder = PictureEncoder(network, kind=kind, regions=regions)
        _fill(
            dataset,
            spread(encoder) if spread else encoder,
            target,
            origin,
            skip_broken=skip_broken,
            batch_size=batch_size,
        )
    return FeatureStore.open(target)


def _fill(
    dataset: Dataset,
    encoder: Encoder,
    target: Path,
    origin: Origin,
    *,
    skip_broken: bool,
    batch_size: int,
) -> None:
    """Encode what is not stored yet and put the store in its place."""
    partial = Partial(target, origin=origin, preprocessing=encoder.preprocessing, dim=encoder.dim)
    names = [row.image for row in dataset.rows]
    files = [
        PictureFile(dataset.images_dir / row.image, [r.box for r in row.regions]) for row in dataset.rows
    ]
    try:
        with ProgressBar(f"features {target.name}", len(names), done=partial.done) as bar:
            for batch in encoder.batches(files[partial.done :], batch_size=batch_size):
                start = partial.done
                found = dict(zip(names[start : start + len(batch)], batch, strict=True))
                broken = [
                    Broken(image=n, reason=str(r)) for n, r in found.items() if isinstance(r, BrokenPicture)
                ]
                if broken and not skip_broken:
                    raise _stopped(dataset, broken[0])
                partial.record([result for result in batch if isinstance(result, Encoded)], broken)
                bar.advance(len(batch))
        left_out = {entry.image for entry in partial.broken}
        if len(left_out) == len(names):
            raise UserError(
                f"none of the {len(names)} pictures of {dataset.path} can be read: {partial.broken[0].reason}"
            )
        partial.finish([name for name in names if name not in left_out])
    finally:
        partial.close()


def digest(dataset: Dataset, *, boxes: bool) -> str:
    """Names, sizes and boxes of the pictures: what tells that a store still fits its dataset."""
    digest = hashlib.sha256()
    for row in dataset.rows:
        file = dataset.images_dir / row.image
        entry: list[object] = [row.image, file.stat().st_size if file.is_file() else None]
        if boxes:
            entry.append([region.box for region in row.regions])
        digest.update(json.dumps(entry).encode() + b"\n")
    return digest.hexdigest()


def _refuse_other(stored: FeatureStore, origin: Origin) -> None:
    """Only features made the same way may be replaced; anything else might not be made again."""
    was, now = (found.model_dump(exclude={"pictures"}) for found in (stored.manifest.origin, origin))
    if was != now:
        raise UserError(
            f"{stored.path} holds {was['kind']} features of {was['backbone']} made in another way; "
            f"choose another name or delete that folder"
        )


def _stopped(dataset: Dataset, broken: Broken) -> UserError:
    return UserError(
        f"picture {dataset.images_dir / broken.image} cannot be used: {broken.reason}; mend it, or leave such "
        f"pictures out with --skip-broken (work so far is kept)"
    )


@contextlib.contextmanager
def _space(target: Path) -> Iterator[None]:
    """Say in a sentence that the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise UserError(
            f"no space left on the disk for {target}; free some and run again, work so far is kept"
        ) from error
