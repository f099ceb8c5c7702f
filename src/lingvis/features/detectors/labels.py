"""The names of a detector's classes, from the files people keep them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingvis.errors import UserError

# What label maps write where a number means nothing.
NOTHING = frozenset({"", "???", "n/a", "background", "__background__"})


def read_labels(file: Path) -> dict[int, str]:
    """Class number -> name, from lines of text (the first is class 0), a JSON list or COCO's `categories`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"labels {file} cannot be read: {error}; give a text file in UTF-8") from error
    if file.suffix == ".json":
        try:
            return json_labels(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"labels {file} are no JSON list of names and have no COCO categories ({error!r}); "
                f"write one name a line instead"
            ) from error
    names = listed(text.splitlines())
    if not names:
        raise UserError(f"labels {file} hold no names; write one name a line")
    return names


def json_labels(value: Any) -> dict[int, str]:
    """Class number -> name, from a list of names or something with COCO's `categories`."""
    if isinstance(value, Mapping):
        return {int(entry["id"]): str(entry["name"]) for entry in value["categories"]}
    return listed([str(name) for name in value])


def listed(lines: list[str]) -> dict[int, str]:
    """Class number -> name; of several spellings with commas between them the first, unused numbers left out."""
    names = {number: line.split(",")[0].strip() for number, line in enumerate(lines)}
    return {number: name for number, name in names.items() if name.lower() not in NOTHING}
