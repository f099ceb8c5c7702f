"""Detections in COCO's JSON: a list of results, or annotations with their images and categories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file
from lingvis.features.detectors.ids import PictureIds
from lingvis.features.detectors.labels import json_labels, read_labels
from lingvis.files import checksum
from lingvis.untrusted import read_json


@DETECTORS.register(
    "coco:FILE", "COCO detection results or annotations; class names from the file or from labels"
)
class CocoDetections:
    """Regions of each picture from a COCO file."""

    side = 0

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "COCO file")
        self.name = f"coco:{path.name}"
        content = _load(path)
        whole = content if isinstance(content, dict) else {}
        entries = whole.get("annotations", []) if whole else content
        # For a list of results, COCO keeps the names of pictures and classes in the file of annotations.
        annotations = _load(labels) if labels and labels.suffix == ".json" else {}
        listed = (
            whole.get("images")
            or (annotations.get("images") if isinstance(annotations, dict) else None)
            or []
        )
        try:
            self.labels = read_labels(labels) if labels else json_labels(whole)
            files = {entry["id"]: entry["file_name"] for entry in listed}
            self.boxes = _by_picture(entries, files, PictureIds(images), path)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path} is not in COCO's format ({error!r} is missing or has a wrong type); entries need image_id, "
                f"category_id, bbox and score, and class names come from `categories` or from the file of labels"
            ) from error
        self.made_of = (checksum(path), *([checksum(labels)] if labels else []))

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The regions of each picture."""
        return [self._regions(picture) for picture in pictures]

    def _regions(self, picture: DetectorPicture) -> list[Region]:
        regions = []
        for x, y, width, height, number, score in self.boxes.get(picture.name, []):
            if int(number) in self.labels:
                box = (x, y, x + width, y + height)
                regions.append(picture.region(box, self.labels[int(number)], score))
        return [region for region in regions if region is not None]


def _by_picture(
    entries: Any, files: dict[Any, str], ids: PictureIds, path: Path
) -> dict[str, list[tuple[float, ...]]]:
    """Picture -> x, y, width, height, class and score of each of its boxes; a box without a score counts as certain."""
    boxes: dict[str, list[tuple[float, ...]]] = {}
    for entry in entries:
        image = ids.find(files.get(entry["image_id"], entry["image_id"]))
        x, y, width, height = (float(value) for value in entry["bbox"])
        if image is not None:
            numbers = (x, y, width, height, int(entry["category_id"]), float(entry.get("score", 1.0)))
            boxes.setdefault(image, []).append(numbers)
    if not boxes:
        raise ids.none_found(path, entries[0]["image_id"] if entries else "no picture at all")
    return boxes


def _load(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON: {error}; name a complete file") from error
