"""Detections in the format of lingvis: any captions.jsonl or regions.jsonl."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lingvis.data.detections import read_regions
from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file
from lingvis.features.detectors.ids import PictureIds
from lingvis.files import checksum


@DETECTORS.register("regions:FILE", "lines of JSON with `image` and `regions`, as in captions.jsonl")
class StoredRegions:
    """Regions of each picture from such a file."""

    side = 0

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "file of regions")
        if labels:
            raise UserError(
                f"labels is {labels}, but a file of regions contains its labels; leave labels out"
            )
        self.name = f"regions:{path.name}"
        self.made_of: tuple[str, ...] = (checksum(path),)
        ids, rows = PictureIds(images), read_regions(path)
        matched = {ids.find(image): regions for image, regions in rows.items()}
        self.regions = {image: regions for image, regions in matched.items() if image is not None}
        if not self.regions:
            raise ids.none_found(path, next(iter(rows), "no picture at all"))

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region]]:
        """The regions of each picture, clipped to it."""
        return [self._regions(picture) for picture in pictures]

    def _regions(self, picture: DetectorPicture) -> list[Region]:
        clipped = []
        for region in self.regions.get(picture.name, ()):
            inside = picture.region(region.box, region.label or "", 0.0)
            if inside is not None:
                clipped.append(region.model_copy(update={"box": inside.box}))
        return clipped
