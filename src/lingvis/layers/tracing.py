"""Whether a computation is being recorded as a graph."""

from __future__ import annotations

import torch


def is_recorded() -> bool:
    """Whether torch records a graph for export: no branch may depend on sizes then, which stay dynamic."""
    return torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export()
