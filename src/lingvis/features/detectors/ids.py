"""Which picture a file of detections speaks of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from lingvis.errors import UserError

# The digits at the end of a hash are no number of a picture.
_NUMBER = re.compile(r"(?:^|[_-])(\d+)$")


class PictureIds:
    """Finds pictures by the names that files give them: a path, a file name, or the number it ends in.

    COCO_val2014_000000391895.jpg is 391895 in COCO's files. What fits two pictures finds none.
    """

    def __init__(self, images: Sequence[str]) -> None:
        self.images = images
        self._found: dict[str, str | None] = {}
        # A full name always wins over a part of another one.
        for spelling in (_whole, _file, _stem, _number):
            new: dict[str, str | None] = {}
            for image in images:
                key = spelling(image)
                if key is not None and key not in self._found:
                    new[key] = None if key in new else image
            self._found |= new

    def find(self, given: str | int) -> str | None:
        """The picture that `given` means."""
        text = str(given)
        number = str(int(text)) if text.isdecimal() else None
        for key in (text, _file(text), _stem(text), number):
            if key is not None and self._found.get(key) is not None:
                return self._found[key]
        return None

    def none_found(self, file: object, example: object) -> UserError:
        """What to say when a file speaks of none of the pictures."""
        return UserError(
            f"{file} names none of the {len(self.images)} pictures; it speaks of {example}, the dataset has "
            f"{self.images[0] if self.images else 'none'}; is it the file of another dataset?"
        )


def _whole(name: str) -> str:
    return name


def _file(name: str) -> str:
    return PurePosixPath(name).name


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


def _number(name: str) -> str | None:
    found = _NUMBER.search(_stem(name))
    return str(int(found.group(1))) if found else None
