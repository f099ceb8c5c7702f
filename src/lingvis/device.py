"""The device and the number type to compute with."""

from __future__ import annotations

import os

import torch

from lingvis.errors import UserError

# Without a workspace of a fixed size, recurrent layers on an NVIDIA GPU may add up in another order in every run (torch's
# notes on nn.GRU), so that equal seeds may give different models (`python -m studies repeat`).
WORKSPACE, WORKSPACE_SIZE = "CUBLAS_WORKSPACE_CONFIG", ":4096:8"


def choose_device(device: str | None = None) -> torch.device:
    """The device of this name; None: the GPU if there is one, otherwise the CPU.

    A GPU gets a fixed workspace, unless the environment has one; it counts from the first product on.
    """
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
    if chosen.type == "cuda":
        os.environ.setdefault(WORKSPACE, WORKSPACE_SIZE)
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
