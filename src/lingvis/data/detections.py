"""What detectors saw in the pictures of a dataset: detections/<name>/ with regions.jsonl and manifest.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lingvis.data.rows import PictureProblem, Region
from lingvis.errors import UserError
from lingvis.strict import StrictModel, explain

REGIONS = "regions"  # the folder that features and pseudo captions use when none is named
FILE, MANIFEST = "regions.jsonl", "manifest.json"
# What a detector is called that put others together: joined:regions/global.
JOINED, JOINED_WITH_WORDNET = "joined", "joined with WordNet"


class DetectionOrigin(StrictModel):
    """What the regions were made of, and how; equal origins mean equal detections.

    made_of: digests of the detector's files. pictures: a digest of the names and sizes of the pictures.
    """

    detector: str
    made_of: tuple[str, ...]
    score: float
    most: int
    pictures: str


class DetectionsManifest(StrictModel):
    """manifest.json of a folder of detections; labels: how many regions have each, the most frequent first."""

    format: Literal[1]
    lingvis: str
    origin: DetectionOrigin
    pictures: int
    empty: int
    regions: int
    labels: dict[str, int]
    broken: tuple[PictureProblem, ...]


class RegionsRow(BaseModel):
    """A line of regions.jsonl; what else a row of captions.jsonl has is passed over."""

    model_config = ConfigDict(frozen=True)
    image: str
    regions: tuple[Region, ...] = ()


def read_detections(folder: Path, images: Sequence[str]) -> dict[str, tuple[Region, ...]]:
    """The regions of each of the pictures; every one must have been looked at."""
    if not (folder / MANIFEST).is_file():
        raise UserError(f"no detections at {folder}; make them with: {_command(folder)}")
    found = read_regions(folder / FILE)
    missing = [image for image in images if image not in found]
    if missing:
        raise UserError(
            f"detections {folder} lack {len(missing)} of the pictures, {missing[0]} among them; bring them up to date "
            f"with: {_command(folder)}"
        )
    return {image: found[image] for image in images}


def read_manifest(folder: Path) -> DetectionsManifest:
    """What a folder of detections says about itself."""
    try:
        return DetectionsManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{folder / MANIFEST} is missing, damaged or of another version; delete {folder} and detect again"
        ) from error


def read_regions(file: Path) -> dict[str, tuple[Region, ...]]:
    """Picture -> its regions, from lines of JSON with `image` and `regions`."""
    found: dict[str, tuple[Region, ...]] = {}
    number = 0
    try:
        with file.open("rb") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    seen = RegionsRow.model_validate_json(line)
                    found[seen.image] = seen.regions
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; detect again") from error
    except ValidationError as error:
        raise UserError(
            f"{file}, line {number}: {explain(error.errors()[0])}; a line is "
            f'{{"image": "a.jpg", "regions": [{{"label": "dog", "score": 0.9, "box": [x0, y0, x1, y1]}}]}}'
        ) from error
    return found


def to_line(image: str, regions: Sequence[Region]) -> str:
    """A line of regions.jsonl, without its end."""
    return RegionsRow(image=image, regions=tuple(regions)).model_dump_json(exclude_none=True)


def counted(regions: Mapping[str, Sequence[Region]]) -> dict[str, int]:
    """How many regions have each label, the most frequent first."""
    counts: dict[str, int] = {}
    for found in regions.values():
        for region in found:
            if region.label is not None:
                counts[region.label] = counts.get(region.label, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _command(folder: Path) -> str:
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
