"""The contract of backbones, and their registry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.backbones.hub import without_hub
from lingvis.features.preprocessing import Preprocessing
from lingvis.registry import Registry


@runtime_checkable
class Backbone(Protocol):
    """A frozen image network that takes preprocessed pixels [batch, 3, size, size].

    dim: size of a cell's vector; pooled_dim: size of the global vector. They are equal for most networks.
    """

    name: str
    dim: int
    pooled_dim: int
    preprocessing: Preprocessing
    device: torch.device

    def cells(self, pixels: Tensor) -> Tensor:
        """The last feature map, [batch, dim, rows, columns]."""
        ...

    def pooled(self, pixels: Tensor) -> Tensor:
        """One vector per picture, [batch, pooled_dim]."""
        ...


# A name that ends in capitals is a family: `timm:NAME` means timm:resnet50 and all other networks of timm.
BACKBONES: Registry[Callable[..., Backbone]] = Registry("backbone")


def load_backbone(
    name: str, *, device: str | None = None, pretrained: bool = True, fetch: bool = True
) -> Backbone:
    """Build the backbone called `name`, by default on CUDA if it is available.

    pretrained=False keeps random weights and downloads nothing; fetch=False uses only weights that were downloaded
    before.
    """
    chosen = choose_device(device)
    prefix, colon, rest = name.partition(":")
    family = next((entry for entry in BACKBONES if colon and entry.name.startswith(prefix + colon)), None)
    if family is not None and not rest:
        raise UserError(f"backbone {name!r} lacks the name of a network; write it as {family.name}")
    factory = family.factory if family is not None else BACKBONES.get(name)
    with contextlib.nullcontext() if fetch or family is None else without_hub(name):
        return factory(rest if family is not None else name, device=chosen, pretrained=pretrained)
