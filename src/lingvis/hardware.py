"""The hardware and versions of a measurement, stored with every number."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


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
