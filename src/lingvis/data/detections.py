"""Stored detections of a dataset: detections/<name>/ with regions.jsonl and manifest.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lingvis.data.rows import PictureProblem, Region
from lingvis.errors import UserError
from lingvis.strict import StrictModel, explain
from lingvis.untrusted import byte_lines, read_bytes

REGIONS = "regions"  # the folder that features and pseudo captions use by default
FILE, MANIFEST = "regions.jsonl", "manifest.json"
# Kinds of detector names for joined detections, as in joined:regions/global.
JOINED, JOINED_WITH_WORDNET = "joined", "joined with WordNet"


class DetectionOrigin(StrictModel):
    """The detector, its settings and the pictures; equal origins mean equal detections.

    made_of: digests of the detector's files. pictures: digest of the names and sizes of the pictures.
    """

    detector: str
    made_of: tuple[str, ...]
    score: float
    most: int
    pictures: str


class DetectionsManifest(StrictModel):
    """manifest.json of a folder of detections; labels: label -> number of regions, most frequent first."""

    format: Literal[1]
    lingvis: str
    origin: DetectionOrigin
    pictures: int
    empty: int
    regions: int
    labels: dict[str, int]
    broken: tuple[PictureProblem, ...]


class RegionsRow(BaseModel):
    """A line of regions.jsonl; other keys are ignored, so that captions.jsonl can be read too."""

    model_config = ConfigDict(frozen=True)
    image: str
    regions: tuple[Region, ...] = ()


def read_detections(folder: Path, images: Sequence[str]) -> dict[str, tuple[Region, ...]]:
    """The regions of each picture; raises if the detections lack one of the pictures."""
    if not (folder / MANIFEST).is_file():
        raise UserError(f"no detections at {folder}; make them with: {_command(folder)}")
    regions = read_regions(folder / FILE)
    missing = [image for image in images if image not in regions]
    if missing:
        raise UserError(
            f"detections {folder} lack {len(missing)} of the pictures, {missing[0]} among them; update them "
            f"with: {_command(folder)}"
        )
    return {image: regions[image] for image in images}


def read_manifest(folder: Path) -> DetectionsManifest:
    """The manifest of a folder of detections."""
    try:
        return DetectionsManifest.model_validate_json(read_bytes(folder / MANIFEST))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder / MANIFEST} is missing, damaged or of another version; delete {folder} and detect again"
        ) from error


def read_regions(file: Path) -> dict[str, tuple[Region, ...]]:
    """Picture -> its regions, from lines of JSON with `image` and `regions`."""
    regions: dict[str, tuple[Region, ...]] = {}
    number = 0
    try:
        for line in byte_lines(file):
            number += 1
            if line.strip():
                row = RegionsRow.model_validate_json(line)
                regions[row.image] = row.regions
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; detect again") from error
    except ValidationError as error:
        raise UserError(
            f"{file}, line {number}: {explain(error.errors()[0])}; a line looks like "
            f'{{"image": "a.jpg", "regions": [{{"label": "dog", "score": 0.9, "box": [x0, y0, x1, y1]}}]}}'
        ) from error
    except ValueError as error:
        raise UserError(f"{file} cannot be read: {error}; detect again") from error
    return regions


def to_line(image: str, regions: Sequence[Region]) -> str:
    """A line of regions.jsonl, without line feed."""
    return RegionsRow(image=image, regions=tuple(regions)).model_dump_json(exclude_none=True)


def count_labels(regions: Mapping[str, Sequence[Region]]) -> dict[str, int]:
    """Label -> number of regions that have it, most frequent first."""
    counts = Counter(
        region.label
        for picture_regions in regions.values()
        for region in picture_regions
        if region.label is not None
    )
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _command(folder: Path) -> str:
    """The command that makes the detections of a folder."""
    dataset = folder.parent.parent
    if (folder / MANIFEST).is_file():
        origin = read_manifest(folder).origin
        kind, _, names = origin.detector.partition(":")
        if kind in (JOINED, JOINED_WITH_WORDNET):
            parts = [*names.split("/"), "--name", folder.name, "--most", str(origin.most)]
            parts += ["--wordnet", "FOLDER"] if kind == JOINED_WITH_WORDNET else []
            return f"lingvis features join {dataset} {' '.join(parts)}"
    name = "" if folder.name == REGIONS else f" --name {folder.name}"
    return f"lingvis features detect {dataset} --detector DETECTOR{name}"
