"""Run a detector on every picture of a dataset and store the regions; resumable at any moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

import lingvis
from lingvis.data.dataset import Dataset
from lingvis.data.detections import (
    FILE,
    MANIFEST,
    REGIONS,
    DetectionOrigin,
    DetectionsManifest,
    RegionsRow,
    count_labels,
    read_manifest,
    read_regions,
    to_line,
)
from lingvis.data.rows import PictureProblem, Region
from lingvis.errors import UserError
from lingvis.features.decoding.pool import DecoderPool
from lingvis.features.detectors.contract import Detector, DetectorPicture, load_detector
from lingvis.features.detectors.pixels import scaled_picture
from lingvis.features.extract import digest
from lingvis.features.partial import one_extraction
from lingvis.features.pictures import BrokenPicture
from lingvis.features.prefetch import prefetch
from lingvis.files import atomic_folder, write_text
from lingvis.progress import ProgressBar
from lingvis.untrusted import parse_json


def detect(
    dataset: Dataset | Path | str,
    detector: str | Detector,
    *,
    labels: Path | str | None = None,
    score: float = 0.3,
    most: int = 36,
    batch_size: int = 8,
    name: str = REGIONS,
    force: bool = False,
) -> DetectionsManifest:
    """Store the regions of every picture in detections/<name>/: the `most` best that reach `score`.

    detector: a name such as onnx:FILE, or a detector. labels: the file of its class names, if the detector has none.
    Complete detections that still match the dataset are returned at once; an interrupted run is resumed.
    Pictures that cannot be read are listed in the manifest and have no regions.
    force: replace detections that were made with other options.
    """
    dataset = Dataset.open(dataset)
    _check(dataset, score=score, most=most, batch_size=batch_size, name=name)
    target = dataset.detections_dir / name
    images = [row.image for row in dataset.rows]
    with one_extraction(target):
        if isinstance(detector, str):
            file = Path(labels) if labels is not None else None
            detector = load_detector(detector, labels=file, images=images)
        origin = DetectionOrigin(
            detector=detector.name,
            made_of=detector.made_of,
            score=score,
            most=most,
            pictures=digest(dataset, boxes=False),
        )
        log = target.parent / f".{name}.partial.jsonl"
        if target.is_dir():
            stored = read_manifest(target)
            if stored.origin == origin:
                log.unlink(missing_ok=True)  # left over by a kill after the folder was finished
                return stored
            _check_replaceable(target, stored.origin, origin, force=force)
        first = origin.model_dump_json()
        done = _resume(log, first, images)
        with (
            log.open("a", encoding="utf-8") as out,
            ProgressBar(f"detections {name}", len(images), done=len(done)) as bar,
        ):
            for batch in _detect_batches(dataset, detector, images[len(done) :], batch_size):
                lines = [_line(image, result, score=score, most=most) for image, result in batch]
                out.write("".join(line + "\n" for line in lines))
                out.flush()
                done += lines
                bar.advance(len(lines))
        manifest = _finish(target, origin, done)
        log.unlink()
    return manifest


def _check(dataset: Dataset, *, score: float, most: int, batch_size: int, name: str) -> None:
    if not dataset.images_dir.is_dir():
        raise UserError(
            f"{dataset.path} has no images/ folder, only stored features; detection needs the pictures"
        )
    if not 0 <= score <= 1:
        raise UserError(f"score must be a number from 0 to 1, such as 0.3, got {score}")
    for value, argument in ((most, "most"), (batch_size, "batch_size")):
        if value < 1:
            raise UserError(f"{argument} must be at least 1, got {value}")
    check_name(name)


def check_name(name: str) -> None:
    """Raise unless the name is a plain folder name."""
    if not name or Path(name).name != name or name.startswith("."):
        raise UserError(f"bad name {name!r} for detections; use a plain folder name such as lite0")


def _detect_batches(
    dataset: Dataset, detector: Detector, images: Sequence[str], batch_size: int
) -> Iterator[list[tuple[str, list[Region] | BrokenPicture]]]:
    """Batches of images with their regions; files are read on all cores while the detector runs."""
    with DecoderPool() as decoders:
        read = partial(_look, dataset.images_dir, detector.side, decoders)
        for batch in prefetch(read, images, batch_size=batch_size):
            readable = [picture for _, picture in batch if isinstance(picture, DetectorPicture)]
            regions = iter(detector.detect(readable) if readable else [])
            yield [
                (image, picture if isinstance(picture, BrokenPicture) else next(regions))
                for image, picture in batch
            ]


def _look(folder: Path, side: int, decoders: DecoderPool, image: str) -> DetectorPicture | BrokenPicture:
    try:
        return scaled_picture(folder / image, image, side, decoders.decode)
    except BrokenPicture as broken:
        return broken


def best(regions: Sequence[Region], *, score: float, most: int) -> list[Region]:
    """The `most` best regions that reach `score`, best first; without a score, a region counts as certain."""
    kept = [region for region in regions if region.score is None or region.score >= score]
    return sorted(kept, key=lambda region: -1.0 if region.score is None else -region.score)[:most]


def _line(image: str, result: list[Region] | BrokenPicture, *, score: float, most: int) -> str:
    if isinstance(result, BrokenPicture):
        return json.dumps({"image": image, "broken": str(result)}, ensure_ascii=False)
    return to_line(image, best(result, score=score, most=most))


def _resume(log: Path, first: str, images: Sequence[str]) -> list[str]:
    """The lines of an interrupted run that still match the images; the log holds only these afterwards."""
    log.parent.mkdir(parents=True, exist_ok=True)
    # Text after the last line feed was cut off by a kill.
    text = log.read_bytes().decode(errors="replace") if log.is_file() else ""
    started_with, *lines = text.split("\n")[:-1] or [""]
    pairs = zip(lines, images, strict=False) if started_with == first else ()
    kept = [line for line, _ in takewhile(lambda pair: _image_of(pair[0]) == pair[1], pairs)]
    write_text(log, "".join(line + "\n" for line in [first, *kept]))
    return kept


def _image_of(line: str) -> str | None:
    """The image of a line that a run wrote; None for any other line."""
    try:
        value = parse_json(line)
        if "broken" in value:
            return PictureProblem(image=value["image"], reason=value["broken"]).image
        return RegionsRow.model_validate_json(line).image
    except (ValueError, TypeError, KeyError):
        return None


def _finish(target: Path, origin: DetectionOrigin, lines: Sequence[str]) -> DetectionsManifest:
    """Write the folder of detections from the lines of a complete run."""
    entries = [json.loads(line) for line in lines]
    broken = [
        PictureProblem(image=entry["image"], reason=entry["broken"]) for entry in entries if "broken" in entry
    ]
    if len(broken) == len(lines):
        raise UserError(
            f"none of the {len(lines)} pictures can be used: {broken[0].reason}; check images/ of the dataset"
        )
    with atomic_folder(target) as folder:
        file = folder / FILE
        pairs = zip(entries, lines, strict=True)
        rows = [to_line(entry["image"], ()) if "broken" in entry else line for entry, line in pairs]
        file.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
        regions = read_regions(file)
        manifest = DetectionsManifest(
            format=1,
            lingvis=lingvis.__version__,
            origin=origin,
            pictures=len(regions),
            empty=sum(not boxes for boxes in regions.values()),
            regions=sum(map(len, regions.values())),
            labels=count_labels(regions),
            broken=tuple(broken),
        )
        write_text(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    return manifest


def _check_replaceable(target: Path, old: DetectionOrigin, new: DetectionOrigin, *, force: bool) -> None:
    """Raise unless the old detections had the same options: they may have taken hours."""
    same = old.model_dump(exclude={"pictures"}) == new.model_dump(exclude={"pictures"})
    if not same and not force:
        raise UserError(
            f"{target} holds detections of {old.detector} with score {old.score:g} and at most {old.most} regions; "
            f"choose another name, or set force to replace them"
        )
