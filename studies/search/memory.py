"""Memory of processes and disk space of folders, as the system reports them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path

SECONDS_BETWEEN_SAMPLES = 0.5


def memory_mb(processes: Sequence[int]) -> float:
    """Memory of processes and their children in MB; shared memory counts once. Linux only: elsewhere 0."""
    everyone = {member for process in processes for member in _family(process)}
    return sum(_proportional_kb(member) for member in everyone) * 1024 / 1e6


class PeakMemory:
    """`with PeakMemory(processes) as memory: ...`, then memory.peak is the largest sample in MB."""

    def __init__(self, processes: Sequence[int]) -> None:
        self.peak = 0.0
        self._processes, self._over = processes, threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watcher.join()

    def _watch(self) -> None:
        while True:
            over = self._over.wait(SECONDS_BETWEEN_SAMPLES)
            self.peak = max(self.peak, memory_mb(self._processes))
            if over:
                return


def folder_mb(folder: Path) -> float:
    """Disk space of all files below a folder, in MB."""
    return (
        sum(
            os.stat(os.path.join(place, name)).st_blocks * 512
            for place, _, names in os.walk(folder)
            for name in names
        )
        / 1e6
    )


def _family(process: int) -> list[int]:
    """A process and all its descendants."""
    family = [process]
    for parent in family:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end at any moment
            for task in Path(f"/proc/{parent}/task").glob("*/children"):
                family += [int(child) for child in task.read_text().split()]
    return family


def _proportional_kb(process: int) -> int:
    try:
        return _field_kb(Path(f"/proc/{process}/smaps_rollup"), "Pss")
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0


def _field_kb(file: Path, name: str) -> int:
    if not Path("/proc/self/status").exists():
        return 0
    line = next(line for line in file.read_text().splitlines() if line.startswith(name + ":"))
    return int(line.split()[1])
