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
    """`auto` takes bfloat16 where a GPU computes in it, float32 elsewhere."""
    if name == "bfloat16":
        return torch.bfloat16
    if name == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.float32
