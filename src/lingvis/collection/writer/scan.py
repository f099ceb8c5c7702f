"""Find the picture files in folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.data.images import HEIC_SUFFIXES, NOT_REGULAR
from lingvis.errors import UserError

SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"} | HEIC_SUFFIXES
LATEST_NS = 2**63 - 1  # the year 2262: later times cannot be stored


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A picture file; captions: paths of text files beside it, dog.txt or dog.de.txt for dog.jpg."""

    path: str
    size: int
    mtime_ns: int
    captions: tuple[str, ...] = ()


@dataclass(slots=True)
class FolderScan:
    """files: by real path; unreadable: folders and files that could not be read, with the reason.

    empty: roots without anything in them, not even hidden files: maybe the disk is not mounted.
    """

    roots: list[str]
    files: dict[str, ScannedFile] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)

    def covers(self, path: str) -> bool:
        """Return whether the scan would have found a file at `path` if there were one."""
        hidden = path in self.unreadable or is_below(path, self.unreadable) or is_below(path, self.empty)
        return is_below(path, self.roots) and not hidden


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is in one of the folders, at any depth."""
    return any(path.startswith(os.path.join(folder, "")) for folder in folders)


def is_gone(path: str) -> bool:
    """Return whether a file is certainly gone; False if the disk does not answer."""
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode) or os.path.realpath(path) != path
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def scan_folders(folders: Sequence[Path]) -> FolderScan:
    """Find all pictures at any depth; symbolic links are followed, and every file is found once, by its real path.

    Hidden files and folders are skipped.
    """
    if not folders:
        raise UserError("no folder was given; name the folders that hold the pictures")
    for folder in folders:
        if not os.path.isdir(folder):
            raise UserError(f"there is no folder {folder}; name the folders that hold the pictures")
    scan = FolderScan([os.path.realpath(folder) for folder in folders])
    waiting, seen = list(scan.roots), set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        try:
            with os.scandir(place) as entries:
                everything = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            _unreadable(scan, place, error)
            continue
        if not everything and place in scan.roots:
            scan.empty.append(place)
        listed = [entry for entry in everything if not entry.name.startswith(".")]
        captions = _caption_files(place, listed)
        for entry in listed:
            _visit(scan, entry, tuple(captions.get(os.path.splitext(entry.name)[0], ())), waiting)
    return scan


def _visit(scan: FolderScan, entry: os.DirEntry[str], captions: tuple[str, ...], waiting: list[str]) -> None:
    """Add a picture, or queue a folder; anything else is ignored."""
    path = entry.path
    try:
        if entry.is_symlink():
            path = os.path.realpath(entry.path)
        if entry.is_dir():
            waiting.append(path)
        elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:
            _add(scan, path, captions)
    except FileNotFoundError as error:
        _unreadable(scan, entry.path, error)  # the link exists, its target does not
    except OSError as error:
        _unreadable(scan, path, error)


def _add(scan: FolderScan, path: str, captions: tuple[str, ...]) -> None:
    try:
        path.encode()  # a name that is not UTF-8 can be neither stored nor printed
    except UnicodeEncodeError:
        _unreadable(scan, path, "its name is not valid UTF-8")
        return
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        _unreadable(scan, path, NOT_REGULAR)
    elif path not in scan.files or captions:
        mtime_ns = max(-LATEST_NS, min(status.st_mtime_ns, LATEST_NS))
        scan.files[path] = ScannedFile(path, status.st_size, mtime_ns, captions)


def _unreadable(scan: FolderScan, path: str, reason: OSError | str) -> None:
    text = reason if isinstance(reason, str) else reason.strerror or str(reason)
    scan.unreadable[os.fsencode(path).decode(errors="replace")] = text


def _caption_files(place: str, listed: Sequence[os.DirEntry[str]]) -> dict[str, list[str]]:
    """Return text files by the stem of the picture they may belong to: dog.de.txt by dog and by dog.de."""
    captions: dict[str, list[str]] = {}
    for entry in listed:
        if entry.name.lower().endswith(".txt"):
            stem = entry.name[: -len(".txt")]
            for name in {stem, os.path.splitext(stem)[0]}:
                captions.setdefault(name, []).append(os.path.join(place, entry.name))
    return captions
