"""The device, the number type and the memory to compute with."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from lingvis.errors import UserError

# Options of mallopt in malloc.h of glibc, and the values that glibc itself reaches in a process that uses large blocks.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
USUAL = {MMAP_THRESHOLD: 2**25, TRIM_THRESHOLD: 2**26}
KEPT = {MMAP_THRESHOLD: 2**30, TRIM_THRESHOLD: 2**31 - 1}

_lock = threading.Lock()
_users = 0


def choose_device(device: str | None = None) -> torch.device:
    """The device of this name; None: the GPU if there is one, otherwise the CPU."""
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise UserError(f"unknown device {device!r}; use cpu, cuda or cuda:N") from error
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise UserError(
            f"device {device!r} does not exist; this machine has {torch.cuda.device_count()} CUDA devices"
        )
    if chosen.type not in ("cpu", "cuda"):
        raise UserError(f"device {device!r} is not supported; use cpu, cuda or cuda:N")
    return chosen


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The number type to compute in; `auto`: bfloat16 if the GPU supports it, otherwise float32.

    On a GPU, float32 products are exact with `float32` and use the tensor cores (tf32) otherwise.
    """
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if name == "float32" else "high")
        torch.backends.cudnn.allow_tf32 = name != "float32"
    bfloat16 = name == "bfloat16" or (
        name == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    )
    return torch.bfloat16 if bfloat16 else torch.float32


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
