"""Atomic writes: a reader never sees half a file, and a kill loses no stored data. Reading without links, private files.

Content is written to a hidden `.<name>.tmp-*` beside the target and then replaces it in one step. Leftovers of a
killed process are removed when the same target is written next. Replacing a folder is one step on Linux; where the
file system cannot swap two names it takes two, and a kill between them leaves the old folder as
`.<name>.old-*`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lingvis.errors import UserError

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of <fcntl.h> and <linux/fs.h>
# Without following links; non-blocking, because opening a pipe would wait for its other end.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
# How to open a folder on the way to a file: on Linux it need not be readable.
WAY = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
SECRET_BYTES = 64 * 1024
NOT_REGULAR = "it is not a regular file"
BEHIND_LINK = "the file or a folder above it is a symbolic link"


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file replaces `path` only if the block raises nothing."""
    place = _place(path, folder=False)
    with _beside(place, folder=False) as temporary:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        sync(temporary)
        os.replace(temporary, place)
        sync(place.parent)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; it replaces `path` only if the block raises nothing."""
    place = _place(path, folder=True)
    with _beside(place, folder=True) as temporary:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        for entry in temporary.rglob("*"):
            # A hard link to a file that existed before has its content on the disk already.
            if not entry.is_symlink() and (entry.is_dir() or entry.stat().st_nlink == 1):
                sync(entry)
        sync(temporary)
        replace_folder(temporary, place)


def replace_folder(source: Path, target: Path) -> None:
    """Replace folder `target` by `source`; the old folder is deleted last."""
    target = _place(target, folder=True)
    old: Path | None = None
    if not target.exists():
        os.replace(source, target)
    elif _exchange(source, target):
        old = source
    else:
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old-"))
        try:
            os.replace(target, old)
            os.replace(source, target)
        except BaseException:
            if not target.exists():
                os.replace(old, target)
            shutil.rmtree(old, ignore_errors=True)
            raise
    sync(target.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def open_regular(path: str | Path) -> io.BufferedReader:
    """Open a regular file, also through links; raises OSError for anything else: a pipe could block, a device never end."""
    return _reader(os.open(path, os.O_RDONLY | os.O_NONBLOCK), path)


def open_real_file(path: str | Path) -> io.BufferedReader:
    """Open the regular file at a path without symbolic links; raises OSError for anything else, also for a pipe."""
    path = os.fspath(path)
    try:
        handle = os.open(path, READ)
        if not _is_at(handle, path):
            os.close(handle)
            handle = _open_step_by_step(path)
    except OSError as error:
        linked = error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.realpath(path) != os.path.abspath(
            path
        )
        raise OSError(error.errno, BEHIND_LINK if linked else error.strerror, path) from error
    return _reader(handle, path)


def _reader(handle: int, path: str | Path) -> io.BufferedReader:
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "it is a folder" if stat.S_ISDIR(mode) else NOT_REGULAR, str(path))


def _is_at(handle: int, path: str) -> bool:
    """Return whether Linux confirms that an open file is at this very path; False does not mean the opposite."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}") == path
    except OSError:
        return False


def _open_step_by_step(path: str) -> int:
    """Open the folders on the way to a file one by one, so that none can be replaced by a link in between."""
    *folders, name = path.split(os.sep)
    place = os.open(os.sep if os.path.isabs(path) else os.curdir, WAY)
    try:
        for folder in filter(None, folders):
            above, place = place, os.open(folder, WAY, dir_fd=place)
            os.close(above)
        return os.open(name, READ, dir_fd=place)
    finally:
        os.close(place)


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner may enter; a folder that exists keeps its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)


def read_secret(file: Path) -> str:
    """Return the text of a file that others may not read; raises UserError if they may, as ssh does."""
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        mode, is_own = stat.S_IMODE(status.st_mode), status.st_uid == os.geteuid()
        # A service may read a file of another owner through its group.
        if stat.S_ISREG(status.st_mode) and mode & (0o077 if is_own else 0o007):
            raise UserError(
                f"{file} can be read by other users of this machine (mode {mode:o}); run: chmod 600 {file}"
            )
        return opened.read(SECRET_BYTES).decode(errors="replace").strip()


def checksum(file: Path) -> str:
    """SHA-256 of a file, read as a stream."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _place(path: Path, *, folder: bool) -> Path:
    """The target of a write to `path`, with symbolic links followed; raises if something of another kind is there."""
    place = Path(os.path.realpath(path))
    fits = path.is_dir() if folder else path.is_file()
    if not fits and (path.exists() or os.path.lexists(place)):
        kind = "folder" if folder else "regular file"
        raise UserError(f"{path} exists and is not a {kind}; name another place to write to")
    return place


@contextlib.contextmanager
def _beside(place: Path, *, folder: bool) -> Iterator[Path]:
    """A temporary file or folder beside `place`, locked while the block runs; the block may move it away.

    The lock ends with its process, so unlocked ones are leftovers of a killed process: they are removed first.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    start = f".{place.name}.tmp-"
    for left in place.parent.iterdir():
        if left.name.startswith(start):
            with contextlib.suppress(OSError), _lock(left, wait=False):
                _remove(left)
    while True:
        temporary = _make(place, start, folder=folder)
        with contextlib.ExitStack() as stack:
            # On a file system without locks, leftovers are not removed either.
            with contextlib.suppress(OSError):
                stack.enter_context(_lock(temporary, wait=True))
            if not temporary.exists():  # another writer removed it as a leftover before it was locked
                continue
            try:
                yield temporary
            finally:
                _remove(temporary)
            return


def _make(place: Path, start: str, *, folder: bool) -> Path:
    if folder:
        return Path(tempfile.mkdtemp(dir=place.parent, prefix=start))
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=start, suffix=place.suffix)
    os.close(handle)
    return Path(name)


@contextlib.contextmanager
def _lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock of a file or folder; without `wait`, OSError if another process holds it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; returns False if the system does not support it."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
