"""Which picture files lie below some folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.data.formats import HEIC
from lingvis.data.regular import NOT_REGULAR
from lingvis.errors import UserError

SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"} | HEIC
LATEST_NS = 2**63 - 1  # in the year 2262: later times cannot be stored


@dataclass(frozen=True, slots=True)
class Found:
    """A picture file; notes: text files beside it, dog.txt or dog.de.txt for dog.jpg."""

    path: str
    size: int
    mtime_ns: int
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Walk:
    """files by real path; unreadable: folders and files that could not be looked at, with the reason.

    empty: roots without anything in them, not even hidden files, as a disk leaves them that is not mounted.
    """

    roots: list[str]
    files: dict[str, Found] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)

    def covers(self, path: str) -> bool:
        """Whether the walk would have come upon a file at `path`, were it there."""
        hidden = path in self.unreadable or is_below(path, self.unreadable) or is_below(path, self.empty)
        return is_below(path, self.roots) and not hidden


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path lies at any depth of one of the folders."""
    return any(path.startswith(os.path.join(folder, "")) for folder in folders)


def is_gone(path: str) -> bool:
    """Whether there certainly is no file at a real path any more; a disk that does not answer tells nothing."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode) or os.path.realpath(path) != path
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def walk(folders: Sequence[Path]) -> Walk:
    """All pictures at any depth; symbolic links are followed, and every file comes once, under its real path.

    Hidden files and folders are left out.
    """
    if not folders:
        raise UserError("no folder was given; name the folders that hold the pictures")
    for folder in folders:
        if not os.path.isdir(folder):
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
                everything = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            _tell(found, place, error)
            continue
        if not everything and place in found.roots:
            found.empty.append(place)
        listed = [entry for entry in everything if not entry.name.startswith(".")]
        notes = _notes(place, listed)
        for entry in listed:
            _enter(found, entry, tuple(notes.get(os.path.splitext(entry.name)[0], ())), waiting)
    return found


def _enter(found: Walk, entry: os.DirEntry[str], notes: tuple[str, ...], waiting: list[str]) -> None:
    """Add a picture, or put a folder among those that wait; what is neither is passed over."""
    path = entry.path
    try:
        if entry.is_symlink():
            path = os.path.realpath(entry.path)
        if entry.is_dir():
            waiting.append(path)
        elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:
            _add(found, path, notes)
    except FileNotFoundError as error:
        _tell(found, entry.path, error)  # the link is there, whatever it should lead to is not
    except OSError as error:
        _tell(found, path, error)


def _add(found: Walk, path: str, notes: tuple[str, ...]) -> None:
    try:
        path.encode()  # a name in no known encoding can be neither stored nor printed
    except UnicodeEncodeError:
        _tell(found, path, "its name is not valid UTF-8")
        return
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        _tell(found, path, NOT_REGULAR)
    elif path not in found.files or notes:
        mtime_ns = max(-LATEST_NS, min(status.st_mtime_ns, LATEST_NS))
        found.files[path] = Found(path, status.st_size, mtime_ns, notes)


def _tell(found: Walk, path: str, reason: OSError | str) -> None:
    told = reason if isinstance(reason, str) else reason.strerror or str(reason)
    found.unreadable[os.fsencode(path).decode(errors="replace")] = told


def _notes(place: str, listed: Sequence[os.DirEntry[str]]) -> dict[str, list[str]]:
    """Text files by the stem of the picture that they may belong to: dog.de.txt by dog and by dog.de."""
    notes: dict[str, list[str]] = {}
    for entry in listed:
        if entry.name.lower().endswith(".txt"):
            stem = entry.name[: -len(".txt")]
            for name in {stem, os.path.splitext(stem)[0]}:
                notes.setdefault(name, []).append(os.path.join(place, entry.name))
    return notes
