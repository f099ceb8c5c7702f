"""The TSV files of bottom-up attention: boxes, classes and attributes from a Faster R-CNN, in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lingvis.data.rows import Region
from lingvis.errors import UserError
from lingvis.features.detectors.contract import DETECTORS, DetectorPicture, require_file
from lingvis.features.detectors.ids import PictureIds
from lingvis.features.detectors.labels import read_labels
from lingvis.features.pictures import BrokenPicture
from lingvis.files import checksum

# The vectors come last and are by far the longest field; they are never decoded here.
FIELDS = (
    "id",
    "height",
    "width",
    "objects",
    "objects_conf",
    "attrs",
    "attrs_conf",
    "count",
    "boxes",
    "vectors",
)
OBJECTS, ATTRIBUTES = "objects_vocab.txt", "attributes_vocab.txt"
SURE_ATTRIBUTE = 0.1  # the authors' threshold for showing an attribute
SAME_SHAPE = 0.02


@DETECTORS.register(
    "bottom-up:FILE", "the bottom-up-attention TSV with classes and attributes; labels: its vocabularies"
)
class BottomUpDetections:
    """Regions of each picture from the TSV; its vocabularies are in the folder `labels`, or beside the file."""

    side = 0

    def __init__(self, file: str, *, labels: Path | None, images: Sequence[str]) -> None:
        path = require_file(file, "TSV file")
        self.name = f"bottom-up:{path.name}"
        folder = labels or path.parent
        names = [require_file(str(folder / name), "vocabulary") for name in (OBJECTS, ATTRIBUTES)]
        self.objects, self.attributes = (read_labels(name) for name in names)
        self.made_of = (checksum(path), *(checksum(name) for name in names))
        ids = PictureIds(images)
        self.fields: dict[str, list[str]] = {}
        first = None
        for fields in _lines(path):
            first = first or fields[0]
            image = ids.find(fields[0])
            if image is not None:
                self.fields[image] = fields[:-1]
        if not self.fields:
            raise ids.none_found(path, first or "no picture at all")

    def detect(self, pictures: Sequence[DetectorPicture]) -> list[list[Region] | BrokenPicture]:
        """The regions of each picture, or the problem of its line."""
        results: list[list[Region] | BrokenPicture] = []
        for picture in pictures:
            try:
                results.append(self._regions(picture))
            except BrokenPicture as broken:
                results.append(broken)
        return results

    def _regions(self, picture: DetectorPicture) -> list[Region]:
        if picture.name not in self.fields:
            return []
        fields = dict(zip(FIELDS, self.fields[picture.name], strict=False))
        try:
            width, height, count = (int(fields[key]) for key in ("width", "height", "count"))
        except ValueError as error:
            raise BrokenPicture(f"its line in the TSV is damaged: {error}") from error
        if abs(width / height * picture.height / picture.width - 1) > SAME_SHAPE:
            raise BrokenPicture(
                f"its boxes were made on a picture of {width}x{height} pixels, "
                f"this one has {picture.width}x{picture.height}"
            )
        corners = _numbers(fields["boxes"], np.float32, (count, 4)) * (picture.width / width)
        objects = _numbers(fields["objects"], np.int64, (count,)).tolist()
        scores = _numbers(fields["objects_conf"], np.float32, (count,)).tolist()
        attributes = _numbers(fields["attrs"], np.int64, (count,)).tolist()
        has_attribute = _numbers(fields["attrs_conf"], np.float32, (count,)) >= SURE_ATTRIBUTE
        regions = [
            picture.region(
                corners[n],
                self.objects[objects[n]],
                scores[n],
                self.attributes.get(attributes[n]) if has_attribute[n] else None,
            )
            for n in range(count)
            if objects[n] in self.objects
        ]
        return [region for region in regions if region is not None]


def _lines(path: Path) -> Iterator[list[str]]:
    """The fields of each picture, line by line: the file may be larger than the memory."""
    with path.open(encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != len(FIELDS):
                raise UserError(
                    f"{path}, line {number}: {len(fields)} fields; a TSV with classes and attributes has {len(FIELDS)}: "
                    f"id, height, width, objects and attributes with their scores, number, boxes, features"
                )
            yield fields


def _numbers(text: str, kind: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind).reshape(shape)
    except (binascii.Error, ValueError) as error:
        raise BrokenPicture(f"its line in the TSV is damaged: {error}") from error
