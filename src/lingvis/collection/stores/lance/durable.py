"""Safety for an engine without fsync: flushed files."""

from __future__ import annotations

import os
from pathlib import Path

from lingvis.files import sync


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
                if name.startswith("."):  # another process writes it; it gets its name when it is whole
                    continue
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
