"""The image side of any open_clip model: `open_clip:ViT-B-32/laion2b_s34b_b79k`, `open_clip:ViT-B-32/own.pt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lingvis.errors import UserError, choices
from lingvis.features.backbones.contract import BACKBONES
from lingvis.features.backbones.external import (
    load_external,
    measure_dims,
    no_drop_path,
    square_preprocessing,
    suggest,
)
from lingvis.features.preprocessing import Fit, Preprocessing

FITS: dict[str, Fit] = {"shortest": "crop", "squash": "squash"}


@BACKBONES.register(
    "open_clip:ARCH/PRETRAINED", "the image side of an open_clip model; needs the extra lingvis[open_clip]"
)
class OpenClipBackbone:
    """A CLIP image tower: cells are the map of its last layer, the global vector is the embedding shared with text."""

    def __init__(
        self,
        network: str,
        *,
        device: torch.device,
        pretrained: bool = True,
        trainable: bool = False,
        drop_path: float = 0.0,
    ) -> None:
        self.classifier: nn.Linear | None = None
        self.name, self.device = f"open_clip:{network}", device
        if drop_path:
            raise no_drop_path(self.name, drop_path)
        self.network: Any = load_clip(network, pretrained=pretrained).visual.to(device)
        if not trainable:
            self.network.requires_grad_(False)
        self.network.output_tokens = False  # otherwise CoCa's tower also returns its tokens
        self.preprocessing = _preprocessing(self.network.preprocess_cfg, self.name)
        self.dim, self.pooled_dim = measure_dims(self)

    def cells(self, pixels: Tensor) -> Tensor:
        """[batch, 3, size, size] -> [batch, dim, rows, columns]."""
        # CoCa's final norm belongs to its attention pool and has a different width.
        norm = getattr(self.network, "attn_pool", None) is None
        outputs = self.network.forward_intermediates(
            pixels, indices=1, normalize_intermediates=norm, intermediates_only=True
        )
        cells: Tensor = outputs["image_intermediates"][-1]
        return cells

    def pooled(self, pixels: Tensor) -> Tensor:
        """[batch, 3, size, size] -> [batch, pooled_dim]."""
        vectors: Tensor = self.network(pixels)
        return vectors

    def simplified(self) -> OpenClipBackbone:
        """The network is used as it is."""
        return self


def load_clip(network: str, *, pretrained: bool) -> Any:
    """Both towers of ARCH/PRETRAINED in evaluation mode."""
    open_clip = load_external("open_clip", extra="open_clip")
    arch, _, tag = network.partition("/")
    if arch not in open_clip.list_models():
        raise UserError(f"open_clip has no architecture {arch!r}{suggest(arch, open_clip.list_models())}")
    tags = open_clip.list_pretrained_tags_by_model(arch)
    if pretrained and tag not in tags and not Path(tag).is_file():
        raise UserError(
            f"open_clip has no weights {tag!r} for {arch}; choose one of: {choices(tags)}, or name a file of weights"
        )
    # The weights declare the activation they were trained with; open_clip itself only warns about a mismatch.
    quick_gelu = bool(open_clip.get_pretrained_cfg(arch, tag).get("quick_gelu", False))
    try:
        model = open_clip.create_model(
            arch, tag if pretrained else None, force_quick_gelu=quick_gelu, pretrained_text=False
        )
    except Exception as error:  # many kinds of errors: no connection, no space, bad file
        raise UserError(
            f"open_clip cannot load {network!r}: {error}; check the connection and the free space"
        ) from error
    return model.eval()


def load_tokenizer(network: str) -> Any:
    """The tokenizer of ARCH/PRETRAINED: a list of sentences -> token ids, int64 [sentences, length]."""
    open_clip = load_external("open_clip", extra="open_clip")
    return open_clip.get_tokenizer(network.partition("/")[0])


def _preprocessing(config: dict[str, Any], name: str) -> Preprocessing:
    """Our form of open_clip's preprocessing."""
    size = config["size"]
    height, width = (size, size) if isinstance(size, int) else size
    return square_preprocessing(name, (width, height), config["resize_mode"], FITS, config)
