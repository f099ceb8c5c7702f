"""Look at every picture of a dataset with a detector and store what it saw, resumable at any moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.data.detections import (
    FILE,
    MANIFEST,
    REGIONS,
    DetectionOrigin,
    DetectionsManifest,
    counted,
    read_manifest,
    read_regions,
    to_line,
)
from lingvis.data.rows import PictureProblem, Region
from lingvis.errors import UserError
from lingvis.features.detectors.contract import Detector, DetectorPicture, load_detector
from lingvis.features.detectors.looking import look
from lingvis.features.extract import digest
from lingvis.features.partial import exclusive
from lingvis.features.pictures import BrokenPicture
from lingvis.features.prefetch import ahead
from lingvis.files import atomic_folder, write_text
from lingvis.progress import ProgressBar


def detect(
    dataset: Dataset,
    detector: str | Detector,
    *,
    labels: Path | None = None,
    score: float = 0.3,
    most: int = 36,
    batch_size: int = 8,
    name: str = REGIONS,
    force: bool = False,
) -> DetectionsManifest:
    """Store the regions of every picture in detections/<name>/: those of at least `score`, at most `most`.

    Detections that are complete and still fit are returned at once; interrupted ones go on where they stopped.
    Pictures that cannot be read are listed and have no regions. force: replace what was made in another way.
    """
    _check(dataset, score=score, most=most, batch_size=batch_size, name=name)
    target = dataset.detections_dir / name
    images = [row.image for row in dataset.rows]
    with exclusive(target):
        eye = (
            detector
            if not isinstance(detector, str)
            else load_detector(detector, labels=labels, images=images)
        )
        origin = DetectionOrigin(
            detector=eye.name,
            made_of=eye.made_of,
            score=score,
            most=most,
            pictures=digest(dataset, boxes=False),
        )
        log = target.parent / f".{name}.partial.jsonl"
        if target.is_dir():
            stored = read_manifest(target)
            if stored.origin == origin:
                log.unlink(missing_ok=True)  # left by a kill after the folder took its place
                return stored
            _refuse_other(target, stored.origin, origin, force=force)
        first = origin.model_dump_json()
        done = _resume(log, first, images)
        with (
            log.open("a", encoding="utf-8") as out,
            ProgressBar(f"detections {name}", len(images), done=len(done)) as bar,
        ):
            for batch in _looked(dataset, eye, images[len(done) :], batch_size):
                lines = [_line(image, result, score=score, most=most) for image, result in batch]
                out.write("".join(line + "\n" for line in lines))
                out.flush()
                done += lines
                bar.advance(len(lines))
        made = _finish(target, origin, done)
        log.unlink()
    return made


def _check(dataset: Dataset, *, score: float, most: int, batch_size: int, name: str) -> None:
    if not dataset.images_dir.is_dir():
        raise UserError(
            f"{dataset.path} has no images/ folder, only stored features; there is nothing to look at"
        )
    if not 0 <= score <= 1:
        raise UserError(f"score {score} is no share; use a number from 0 to 1, such as 0.3")
    for value, what in ((most, "number of regions"), (batch_size, "batch size")):
        if value < 1:
            raise UserError(f"{what} {value} is too small; use at least 1")
    check_name(name)


def check_name(name: str) -> None:
    """Detections are plain folders below detections/."""
    if not name or Path(name).name != name or name.startswith("."):
        raise UserError(f"bad name {name!r} for detections; use a plain folder name such as lite0")


def _looked(
    dataset: Dataset, eye: Detector, images: Sequence[str], batch_size: int
) -> Iterator[list[tuple[str, list[Region] | BrokenPicture]]]:
    """Batches of pictures with what was seen; files are read on all cores beside the detector."""
    read = partial(_look, dataset.images_dir, eye.side)
    for batch in ahead(read, images, batch_size=batch_size):
        good = [picture for _, picture in batch if isinstance(picture, DetectorPicture)]
        seen = iter(eye.detect(good) if good else [])
        yield [
            (image, picture if isinstance(picture, BrokenPicture) else next(seen)) for image, picture in batch
        ]


def _look(folder: Path, side: int, image: str) -> DetectorPicture | BrokenPicture:
    try:
        return look(folder / image, image, side)
    except BrokenPicture as broken:
        return broken


def best(regions: Sequence[Region], *, score: float, most: int) -> list[Region]:
    """The regions of at least `score`, the surest first; one without a score was given by a person and is sure."""
    kept = [region for region in regions if region.score is None or region.score >= score]
    return sorted(kept, key=lambda region: -1.0 if region.score is None else -region.score)[:most]


def _line(image: str, result: list[Region] | BrokenPicture, *, score: float, most: int) -> str:
    if isinstance(result, BrokenPicture):
        return json.dumps({"image": image, "broken": str(result)}, ensure_ascii=False)
    return to_line(image, best(result, score=score, most=most))


def _resume(log: Path, first: str, images: Sequence[str]) -> list[str]:
    """The lines of an interrupted run that still fit; the log holds just these afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    # What comes after the last end of line was cut off by a kill.
    begun, *lines = log.read_text(encoding="utf-8").split("\n")[:-1] or [""] if log.is_file() else [""]
    pairs = zip(lines, images, strict=False) if begun == first else ()
    kept = [line for line, _ in takewhile(lambda pair: _image_of(pair[0]) == pair[1], pairs)]
    write_text(log, "".join(line + "\n" for line in [first, *kept]))
    return kept


def _image_of(line: str) -> Any:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value.get("image") if isinstance(value, dict) else None


def _finish(target: Path, origin: DetectionOrigin, lines: Sequence[str]) -> DetectionsManifest:
    """Put the folder of detections in its place."""
    entries = [json.loads(line) for line in lines]
    broken = [PictureProblem(image=e["image"], reason=e["broken"]) for e in entries if "broken" in e]
    if len(broken) == len(lines):
        raise UserError(f"none of the {len(lines)} pictures can be used: {broken[0].reason}")
    with atomic_folder(target) as folder:
        file = folder / FILE
        pairs = zip(entries, lines, strict=True)
        whole = [to_line(entry["image"], ()) if "broken" in entry else line for entry, line in pairs]
        file.write_text("".join(line + "\n" for line in whole), encoding="utf-8")
        regions = read_regions(file)
        made = DetectionsManifest(
            format=1,
            lingvis=lingvis.__version__,
            origin=origin,
            pictures=len(regions),
            empty=sum(not found for found in regions.values()),
            regions=sum(map(len, regions.values())),
            labels=counted(regions),
            broken=tuple(broken),
        )
        write_text(folder / MANIFEST, made.model_dump_json(indent=2) + "\n")
    return made


def _refuse_other(target: Path, was: DetectionOrigin, now: DetectionOrigin, *, force: bool) -> None:
    """Only detections made the same way are replaced unasked: they may have taken hours."""
    same = was.model_dump(exclude={"pictures"}) == now.model_dump(exclude={"pictures"})
    if not same and not force:
        raise UserError(
            f"{target} holds what {was.detector} saw with score {was.score:g} and at most {was.most} regions; "
            f"choose another name with --name, or replace it with --force"
        )
