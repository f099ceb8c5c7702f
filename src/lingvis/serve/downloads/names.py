"""Names of files in an archive: unique, and allowed on every system."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

CHARACTERS = 120
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return a name without characters that a system forbids or a terminal obeys."""
    clean = FORBIDDEN.sub("_", unicodedata.normalize("NFC", name)).strip(" .") or "picture"
    if RESERVED.fullmatch(clean):
        clean = f"_{clean}"
    path = PurePath(clean)
    return f"{path.stem[: CHARACTERS - len(path.suffix)]}{path.suffix[:CHARACTERS]}"


class UniqueNames:
    """Gives each file a name that no other has, whether a system distinguishes capitals or not."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, name: str) -> str:
        """Return a safe name, with a number if it is taken: "a.jpg", then "a (2).jpg"."""
        path = PurePath(safe_name(name))
        number, unique = 1, path.name
        while unique.casefold() in self._taken:
            number += 1
            unique = f"{path.stem} ({number}){path.suffix}"
        self._taken.add(unique.casefold())
        return unique
