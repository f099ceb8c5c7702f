"""Class names of a detector, from label files of common formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingvis.errors import UserError
from lingvis.untrusted import parse_json

# Names that label maps use for unused class numbers.
NOTHING = frozenset({"", "???", "n/a", "background", "__background__"})


def read_labels(file: Path) -> dict[int, str]:
    """Class number -> name, from lines of text (the first is class 0), a JSON list or COCO's `categories`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"labels {file} cannot be read: {error}; name a text file in UTF-8") from error
    if file.suffix == ".json":
        try:
            return json_labels(parse_json(text))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"labels {file} are not a JSON list of names and have no COCO categories ({error!r}); "
                f"write one name per line instead"
            ) from error
    names = labels_by_number(text.splitlines())
    if not names:
        raise UserError(f"labels {file} hold no names; write one name per line")
    return names


def json_labels(value: Any) -> dict[int, str]:
    """Class number -> name, from a list of names or an object with COCO's `categories`."""
    if isinstance(value, Mapping):
        return {int(entry["id"]): str(entry["name"]) for entry in value["categories"]}
    return labels_by_number([str(name) for name in value])


def labels_by_number(lines: list[str]) -> dict[int, str]:
    """Class number -> name, the first of several names separated by commas; unused numbers are omitted."""
    names = {number: line.split(",")[0].strip() for number, line in enumerate(lines)}
    return {number: name for number, name in names.items() if name.lower() not in NOTHING}
