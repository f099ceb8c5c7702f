"""The processor and the memory of this machine, and the description that is stored with every number."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

# Options of mallopt in malloc.h of glibc, and the values that glibc itself reaches in a process that uses large blocks.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
USUAL = {MMAP_THRESHOLD: 2**25, TRIM_THRESHOLD: 2**26}
KEPT = {MMAP_THRESHOLD: 2**30, TRIM_THRESHOLD: 2**31 - 1}

_lock = threading.Lock()
_users = 0


def describe_hardware() -> dict[str, Any]:
    """Processor, cores, GPU and the versions of the main packages."""
    import numpy
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "cpu": processor_name(),
        "cores": core_count(),
        "gpu": gpu,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }


def core_count() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """The name of the processor, as the system reports it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed blocks of up to a gigabyte for the next ones during the block; then return them to the system.

    glibc returns every block above 32 MB at once, and the system clears each page of the next one: for a network on a
    CPU, whose layers need such blocks, this took 39 % of the processor time. Does nothing with another C library, or with
    an old glibc, which does not keep such blocks.
    """
    global _users
    library = _glibc()
    if library is None:
        yield
        return
    with _lock:
        _users += 1
        _set(library, KEPT)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _set(library, USUAL)
                library.malloc_trim(0)


def keep_memory() -> None:
    """Keep freed blocks for the rest of this process: that of a worker, which does nothing else."""
    global _users
    library = _glibc()
    if library is not None:
        with _lock:
            _users += 1
            _set(library, KEPT)


def _set(library: Any, values: dict[int, int]) -> bool:
    """Set options up to the first that the library rejects; returns whether all are set."""
    return all(library.mallopt(option, value) for option, value in values.items())


@cache
def _glibc() -> Any:
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (OSError, TypeError, AttributeError):  # other systems and C libraries
        return None
