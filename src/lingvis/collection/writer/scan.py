"""Find the picture and video files in folders."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.skipped import count_skipped
from lingvis.collection.writer.spool import FileSpool
from lingvis.data.images import HEIC_SUFFIXES
from lingvis.data.video import formats as videos
from lingvis.errors import UserError
from lingvis.files import NOT_REGULAR

SUFFIXES = (
    {".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"}
    | HEIC_SUFFIXES
    | videos.SUFFIXES
)
LATEST_NS = 2**63 - 1  # the year 2262: later times cannot be stored
CAPTION_LINK = "a caption is not read through a symbolic link; put a copy of the file in its place"


@dataclass(slots=True)
class FolderScan:
    """Yields each file once, by its real path. unreadable: folders and files that could not be read, with the reason.

    empty: roots without anything in them, not even hidden files: maybe the disk is not mounted. skipped_links: links
    to pictures or folders outside the roots, unless they are followed. skipped_types: numbers of other files by suffix.
    listed: folders that were listed; direct: the files in them; linked: files that links lead to, by real path.
    """

    roots: list[str]
    follow_links: bool = False
    direct: FileSpool = field(default_factory=FileSpool)
    unreadable: dict[str, str] = field(default_factory=dict)
    empty: list[str] = field(default_factory=list)
    skipped_links: list[str] = field(default_factory=list)
    skipped_types: Counter[str] = field(default_factory=Counter)
    listed: set[str] = field(default_factory=set)
    linked: dict[str, ScannedFile] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ScannedFile]:
        """Yield the files; a caption beside a link counts if there is none beside the file."""
        for file in self.direct:
            yield file if file.captions else self.linked.get(file.path, file)
        yield from (file for file in self.linked.values() if not self._is_direct(file.path))

    def _is_direct(self, path: str) -> bool:
        folder, name = os.path.split(path)
        usual = not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES
        return usual and folder in self.listed

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


def stored_time(status: os.stat_result) -> int:
    """Return the modification time of a file in nanoseconds, as a collection stores it."""
    return max(-LATEST_NS, min(status.st_mtime_ns, LATEST_NS))


def scan_folders(folders: Sequence[Path], *, follow_links: bool = False) -> FolderScan:
    """Find all pictures at any depth, every file once, by its real path; hidden files and folders are skipped.

    Symbolic links are followed inside the folders, and outside only with `follow_links`. A folder that is itself a link
    may be given.
    """
    if not folders:
        raise UserError("no folder was given; name the folders that hold the pictures")
    for folder in folders:
        if not os.path.isdir(folder):
            raise UserError(f"there is no folder {folder}; name the folders that hold the pictures")
    scan = FolderScan([os.path.realpath(folder) for folder in folders], follow_links)
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
        scan.listed.add(place)
        if not everything and place in scan.roots:
            scan.empty.append(place)
        listed = [entry for entry in everything if not entry.name.startswith(".")]
        captions = _caption_files(listed)
        for entry in listed:
            _visit(scan, entry, captions.get(os.path.splitext(entry.name)[0], ()), waiting)
    return scan


def _visit(
    scan: FolderScan, entry: os.DirEntry[str], captions: Sequence[os.DirEntry[str]], waiting: list[str]
) -> None:
    """Add a picture, or queue a folder; anything else is ignored."""
    path = entry.path
    try:
        if entry.is_symlink():
            path = os.path.realpath(entry.path)
        leaves = path != entry.path and not scan.follow_links and not _is_inside(path, scan.roots)
        is_folder = entry.is_dir()
        suffix = os.path.splitext(entry.name)[1].lower()
        if not is_folder and suffix not in SUFFIXES:
            count_skipped(scan.skipped_types, suffix)
            return
        if leaves:
            scan.skipped_links.append(_shown(entry.path))
        elif is_folder:
            waiting.append(path)
        else:
            _add(scan, path, _without_links(scan, captions), linked=path != entry.path)
    except FileNotFoundError as error:
        _unreadable(scan, entry.path, error)  # the link exists, its target does not
    except OSError as error:
        _unreadable(scan, path, error)


def _add(scan: FolderScan, path: str, captions: tuple[str, ...], *, linked: bool) -> None:
    try:
        path.encode()  # a name that is not UTF-8 can be neither stored nor printed
    except UnicodeEncodeError:
        _unreadable(scan, path, "its name is not valid UTF-8")
        return
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        _unreadable(scan, path, NOT_REGULAR)
        return
    file = ScannedFile(path, status.st_size, stored_time(status), captions)
    if not linked:
        scan.direct.append(file)
    elif path not in scan.linked or captions:
        scan.linked[path] = file


def _is_inside(path: str, roots: Sequence[str]) -> bool:
    return path in roots or is_below(path, roots)


def _unreadable(scan: FolderScan, path: str, reason: OSError | str) -> None:
    scan.unreadable[_shown(path)] = reason if isinstance(reason, str) else reason.strerror or str(reason)


def _shown(path: str) -> str:
    """Return a path that can be printed, even if its name is not UTF-8."""
    return os.fsencode(path).decode(errors="replace")


def _caption_files(listed: Sequence[os.DirEntry[str]]) -> dict[str, list[os.DirEntry[str]]]:
    """Return text files by the stem of the picture they may belong to: dog.de.txt by dog and by dog.de."""
    captions: dict[str, list[os.DirEntry[str]]] = {}
    for entry in listed:
        if entry.name.lower().endswith(".txt"):
            stem = entry.name[: -len(".txt")]
            for name in {stem, os.path.splitext(stem)[0]}:
                captions.setdefault(name, []).append(entry)
    return captions


def _without_links(scan: FolderScan, captions: Sequence[os.DirEntry[str]]) -> tuple[str, ...]:
    """Return the paths of captions that are no links, and report the others."""
    for entry in captions:
        if entry.is_symlink():
            _unreadable(scan, entry.path, CAPTION_LINK)
    return tuple(entry.path for entry in captions if not entry.is_symlink())
