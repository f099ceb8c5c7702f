"""Writes that are whole or absent: a reader never sees half a file, and a kill loses nothing stored."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes its place only when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; it replaces `path` only when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        for entry in temporary.rglob("*"):
            # A hard link to a file that existed before has its content on the disk already.
            if not entry.is_symlink() and (entry.is_dir() or entry.stat().st_nlink == 1):
                sync(entry)
        sync(temporary)
        replace_folder(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_folder(source: Path, target: Path) -> None:
    """Put folder `source` in the place of `target`; the old one is dropped after the new one stands."""
    old: Path | None = None
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
        os.replace(target, old)
    try:
        os.replace(source, target)
    except OSError:
        if old is not None:
            os.replace(old, target)
        raise
    sync(target.parent)
    if old is not None:
        shutil.rmtree(old)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people and machines, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
