"""Safety for an engine without fsync: flushed files, and one writer at a time."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from lingvis.files import sync
from lingvis.lock import exclusive


class FolderSync:
    """Flushes files that were added to a folder since the last call; its files never change after writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: set[str] = set()  # empty at first, so that files of a killed process are flushed too

    def __call__(self) -> None:
        """Flush new files first, then their folders."""
        seen: set[str] = set()
        changed: set[str] = set()
        for place, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = os.path.join(place, name)
                seen.add(path)
                if path not in self._done:
                    changed.add(place)
                    if name in folders:
                        changed.add(path)
                    else:
                        sync(Path(path))
        for path in sorted(changed, reverse=True):  # the deepest first
            sync(Path(path))
        if not self._done:
            sync(self.folder.parent)
        self._done = seen


def one_writer(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a collection folder; raises UserError if another process holds it. A kill releases it."""
    busy = f"another process is writing to {folder}; wait until it has finished, or stop it"
    return exclusive(folder / "lock", busy)
