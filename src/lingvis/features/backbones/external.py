"""Shared code of the adapters for other libraries."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from lingvis.errors import UserError
from lingvis.features.preprocessing import Fit, Preprocessing


class _Network(Protocol):
    """A backbone whose dimensions are not known yet."""

    preprocessing: Preprocessing
    device: torch.device

    def cells(self, pixels: Tensor) -> Tensor: ...

    def pooled(self, pixels: Tensor) -> Tensor: ...


def load_external(module: str, *, extra: str) -> Any:
    """Import an optional library; raises with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{module}: backbones need {error.name}; run: pip install 'lingvis[{extra}]'"
        ) from error


def suggest(name: str, names: Sequence[str]) -> str:
    """The end of an error message about an unknown name: similar names."""
    similar = difflib.get_close_matches(name, names, n=5)
    return (
        f"; did you mean {', '.join(similar)}?" if similar else f"; it has {len(names)}, such as {names[0]}"
    )


def no_drop_path(name: str, share: float) -> UserError:
    """The error about a network that has no residual branches to skip."""
    return UserError(
        f"image.backbone.drop_path is {share}, but {name} has no residual branches to skip; set it to 0"
    )


@torch.no_grad()  # not inference mode: a network may keep tensors of its first call, and train with them later
def measure_dims(backbone: _Network) -> tuple[int, int]:
    """The sizes of a cell's vector and of the global vector, measured on a blank picture: no library states both."""
    size = backbone.preprocessing.size
    pixels = torch.zeros(1, 3, size, size, device=backbone.device)
    return backbone.cells(pixels).shape[1], backbone.pooled(pixels).shape[1]


def square_preprocessing(
    name: str,
    size: tuple[int, int],
    mode: str,
    fits: Mapping[str, Fit],
    config: Mapping[str, Any],
    *,
    keep: float = 1.0,
) -> Preprocessing:
    """Our form of a library's preprocessing; raises for pictures that are not square and for unsupported modes.

    size: width and height; mode: the library's name of a fit, one of `fits`; config: mean, std and interpolation.
    """
    width, height = size
    if height != width or mode not in fits:
        raise UserError(
            f"backbone {name} needs {width}x{height} pictures in mode {mode}; "
            f"only squares in mode {' or '.join(fits)} are supported, choose another network"
        )
    return Preprocessing(
        size=height,
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        interpolation=config["interpolation"],
        fit=fits[mode],
        keep=keep,
    )


def as_map(features: Tensor, *, channels: int, prefix: int, name: str) -> Tensor:
    """Features in any common layout -> [batch, channels, rows, columns].

    Maps have channels first or last; tokens are [batch, prefix + rows * columns, channels].
    """
    if features.ndim == 3:
        tokens = features[:, prefix:]
        side = math.isqrt(tokens.shape[1])
        if side * side != tokens.shape[1]:
            raise UserError(
                f"backbone {name} returns {tokens.shape[1]} tokens, not a square grid; choose another one"
            )
        return tokens.transpose(1, 2).reshape(len(tokens), -1, side, side)
    if features.ndim != 4:
        raise UserError(
            f"backbone {name} returns features of shape {list(features.shape)}, not a grid; choose another one"
        )
    return features if features.shape[1] == channels else features.permute(0, 3, 1, 2)
