"""What the adapters of other libraries share."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from lingvis.errors import UserError
from lingvis.features.backbones.contract import Preprocessing


class _Unmeasured(Protocol):
    """A backbone whose dimensions are not known yet."""

    preprocessing: Preprocessing
    device: torch.device

    def cells(self, pixels: Tensor) -> Tensor: ...

    def pooled(self, pixels: Tensor) -> Tensor: ...


def load_external(module: str, *, extra: str) -> Any:
    """Import an optional library, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(
            f"{module}: backbones need {error.name}; run: pip install 'lingvis[{extra}]'"
        ) from error


def suggest(wanted: str, names: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: the names like it."""
    like = difflib.get_close_matches(wanted, names, n=5)
    return f"; did you mean {', '.join(like)}?" if like else f"; it has {len(names)}, {names[0]} among them"


@torch.inference_mode()
def probe(backbone: _Unmeasured) -> tuple[int, int]:
    """The dimensions of cells and global vector, from one blank picture: no library states both reliably."""
    size = backbone.preprocessing.size
    pixels = torch.zeros(1, 3, size, size, device=backbone.device)
    return backbone.cells(pixels).shape[1], backbone.pooled(pixels).shape[1]


def as_map(features: Tensor, *, channels: int, prefix: int, name: str) -> Tensor:
    """Features in any of the usual layouts -> [batch, channels, rows, columns].

    Maps come channels first or last, tokens as [batch, prefix + rows * columns, channels].
    """
    if features.ndim == 3:
        tokens = features[:, prefix:]
        side = math.isqrt(tokens.shape[1])
        if side * side != tokens.shape[1]:
            raise UserError(
                f"backbone {name} gives {tokens.shape[1]} tokens, not a square grid; choose another"
            )
        return tokens.transpose(1, 2).reshape(len(tokens), -1, side, side)
    if features.ndim != 4:
        raise UserError(
            f"backbone {name} gives features of shape {list(features.shape)}, no grid; choose another"
        )
    return features if features.shape[1] == channels else features.permute(0, 3, 1, 2)
