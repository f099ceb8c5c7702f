"""One writer at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from lingvis.lock import exclusive

LOCK = "lock"


def one_writer(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a collection folder; raises UserError if another process holds it. A kill releases it."""
    busy = f"another process is writing to {folder}; wait until it has finished, or stop it"
    return exclusive(folder / LOCK, busy)
