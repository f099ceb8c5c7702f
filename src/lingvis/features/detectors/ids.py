"""Which picture of the dataset an entry in a file of detections belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from lingvis.errors import UserError

# A picture's number is the whole name or follows _ or -; digits at the end of a hash do not count.
_NUMBER = re.compile(r"(?:^|[_-])(\d+)$")


class PictureIds:
    """Finds pictures by the names that files use for them: a path, a file name, or the number that it ends in.

    COCO_val2014_000000391895.jpg is 391895 in COCO's files. An ambiguous name finds no picture.
    """

    def __init__(self, images: Sequence[str]) -> None:
        self.images = images
        self._images: dict[str, str | None] = {}  # None for an ambiguous name
        # A full name takes precedence over a part of another name.
        for spelling in (_whole, _file, _stem, _number):
            new: dict[str, str | None] = {}
            for image in images:
                key = spelling(image)
                if key is not None and key not in self._images:
                    new[key] = None if key in new else image
            self._images |= new

    def find(self, identifier: str | int) -> str | None:
        """The picture of an identifier in a file, None if there is none."""
        text = str(identifier)
        number = str(int(text)) if text.isdecimal() else None
        for key in (text, _file(text), _stem(text), number):
            if key is not None and self._images.get(key) is not None:
                return self._images[key]
        return None

    def none_found(self, file: object, example: object) -> UserError:
        """The error for a file that names none of the pictures."""
        return UserError(
            f"{file} names none of the {len(self.images)} pictures: it has {example}, the dataset has "
            f"{self.images[0] if self.images else 'none'}; use the file of this dataset"
        )


def _whole(name: str) -> str:
    return name


def _file(name: str) -> str:
    return PurePosixPath(name).name


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


def _number(name: str) -> str | None:
    match = _NUMBER.search(_stem(name))
    return str(int(match.group(1))) if match else None
