"""The contract of backbones, and their registry."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from lingvis.device import choose_device
from lingvis.errors import UserError
from lingvis.features.backbones.hub import without_hub
from lingvis.features.preprocessing import Preprocessing
from lingvis.registry import Registry


@dataclass(frozen=True, slots=True)
class BackboneInput:
    """The name and the preprocessing of a backbone without its network, for models that contain the network."""

    name: str
    preprocessing: Preprocessing


@runtime_checkable
class Backbone(Protocol):
    """An image network that takes preprocessed pixels [batch, 3, size, size], in evaluation mode.

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


class TrainableBackbone(Backbone, Protocol):
    """A backbone whose network can be trained as part of a model; its parameters that learn have requires_grad set."""

    network: nn.Module
    classifier: (
        nn.Linear | None
    )  # of ImageNet classes, on the mean of the cells; None if the network has none

    def simplified(self) -> Backbone:
        """A copy that computes the same faster, for inference only."""
        ...


# A name that ends in capitals is a family: `timm:NAME` means timm:resnet50 and all other networks of timm.
BACKBONES: Registry[Callable[..., TrainableBackbone]] = Registry("backbone")


def load_backbone(
    name: str, *, device: str | None = None, pretrained: bool = True, fetch: bool = True
) -> Backbone:
    """Build the backbone called `name`, by default on CUDA if it is available.

    pretrained=False keeps random weights and downloads nothing; fetch=False uses only weights that were downloaded
    before.
    """
    return _load(name, device=choose_device(device), pretrained=pretrained, trainable=False, fetch=fetch)


def load_trainable(name: str, *, pretrained: bool, drop_path: float = 0.0) -> TrainableBackbone:
    """Build the backbone called `name` on the CPU, with its batch norms; its classifier is apart.

    drop_path: the share of residual branches that are skipped in training, in the last block; earlier blocks skip fewer.
    pretrained=False keeps random weights and fetches nothing at all.
    """
    return _load(
        name,
        device=torch.device("cpu"),
        pretrained=pretrained,
        trainable=True,
        fetch=pretrained,
        drop_path=drop_path,
    )


def _load(
    name: str,
    *,
    device: torch.device,
    pretrained: bool,
    trainable: bool,
    fetch: bool,
    drop_path: float = 0.0,
) -> TrainableBackbone:
    prefix, colon, rest = name.partition(":")
    family = next((entry for entry in BACKBONES if colon and entry.name.startswith(prefix + colon)), None)
    if family is not None and not rest:
        raise UserError(f"backbone {name!r} lacks the name of a network; write it as {family.name}")
    factory = family.factory if family is not None else BACKBONES.get(name)
    with contextlib.nullcontext() if fetch or family is None else without_hub(name):
        return factory(
            rest if family is not None else name,
            device=device,
            pretrained=pretrained,
            trainable=trainable,
            drop_path=drop_path,
        )
