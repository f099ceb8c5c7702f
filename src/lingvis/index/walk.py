"""Which picture files lie below some folders."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.errors import UserError

HEIC = {".heic", ".heif"} if importlib.util.find_spec("pillow_heif") else set()
SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"} | HEIC


@dataclass(frozen=True, slots=True)
class Found:
    """A picture file; notes: text files beside it, dog.txt or dog.de.txt for dog.jpg."""

    path: str
    size: int
    mtime_ns: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Walk:
    """files by real path; unreadable: folders and files that could not be looked at, with the reason."""

    roots: list[str]
    files: dict[str, Found] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def covers(self, path: str) -> bool:
        """Whether the walk would have come upon a file at `path`, were it there."""
        below = any(path.startswith(os.path.join(root, "")) for root in self.roots)
        return below and not any(path.startswith(os.path.join(place, "")) for place in self.unreadable)


def walk(folders: Sequence[Path]) -> Walk:
    """All pictures at any depth; symbolic links are followed, and every file comes once, under its real path.

    Hidden files and folders are left out.
    """
    if not folders:
        raise UserError("no folder was given; name the folders that hold the pictures")
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}; name the folders that hold the pictures")
    found = Walk([os.path.realpath(folder) for folder in folders])
    waiting, seen = list(found.roots), set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        try:
            with os.scandir(place) as entries:
                listed = sorted(
                    (entry for entry in entries if not entry.name.startswith(".")), key=lambda e: e.name
                )
        except OSError as error:
            found.unreadable[place] = error.strerror or str(error)
            continue
        notes = _notes(place, listed)
        for entry in listed:
            path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if entry.is_dir():
                waiting.append(path)
            elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:
                _add(found, path, tuple(notes.get(os.path.splitext(entry.name)[0], ())))
    return found


def _add(found: Walk, path: str, notes: tuple[str, ...]) -> None:
    try:
        path.encode()  # a name in no known encoding can be neither stored nor printed
        status = os.stat(path)
    except UnicodeEncodeError:
        found.unreadable[os.fsencode(path).decode(errors="replace")] = "its name is not valid UTF-8"
    except OSError as error:
        found.unreadable[path] = error.strerror or str(error)
    else:
        if path not in found.files or notes:
            found.files[path] = Found(path, status.st_size, status.st_mtime_ns, notes)


def _notes(place: str, listed: Sequence[os.DirEntry[str]]) -> dict[str, list[str]]:
    """Text files by the stem of the picture that they may belong to: dog.de.txt by dog and by dog.de."""
    notes: dict[str, list[str]] = {}
    for entry in listed:
        if entry.name.lower().endswith(".txt"):
            stem = entry.name[: -len(".txt")]
            for name in {stem, os.path.splitext(stem)[0]}:
                notes.setdefault(name, []).append(os.path.join(place, entry.name))
    return notes
