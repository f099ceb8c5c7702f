"""Which device to compute on."""

from __future__ import annotations

import torch

from lingvis.errors import UserError


def choose_device(name: str | None = None) -> torch.device:
    """The named device, or a GPU when there is one."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"device {name!r} cannot be used here; choose cpu, or cuda on a machine with a GPU"
        ) from error
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type to compute in; `auto` takes bfloat16 where a GPU computes in it, float32 elsewhere.

    Float32 products on a GPU are exact with `float32` and use the tensor cores (tf32) otherwise.
    """
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if name == "float32" else "high")
        torch.backends.cudnn.allow_tf32 = name != "float32"
    bfloat16 = name == "bfloat16" or (
        name == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported()
    )
    return torch.bfloat16 if bfloat16 else torch.float32
