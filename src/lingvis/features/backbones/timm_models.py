"""Any image network of timm, by its name in timm: `timm:resnet50`, `timm:vit_small_patch14_dinov2.lvd142m`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from lingvis.errors import UserError
from lingvis.features.backbones.contract import BACKBONES
from lingvis.features.backbones.external import (
    as_map,
    load_external,
    measure_dims,
    no_drop_path,
    square_preprocessing,
    suggest,
)
from lingvis.features.preprocessing import Fit, Preprocessing

FITS: dict[str, Fit] = {"center": "crop", "squash": "squash"}


@BACKBONES.register("timm:NAME", "any network of timm, weights downloaded; needs the extra lingvis[timm]")
class TimmBackbone:
    """A timm network: cells are its last feature map or tokens, the global vector comes from its pooling."""

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
        self.name, self.device = f"timm:{network}", device
        timm = load_external("timm", extra="timm")
        if not timm.is_model(network):
            raise UserError(f"timm has no network {network!r}{suggest(network, timm.list_models())}")
        if drop_path and not _has_drop_path(timm, network):
            raise no_drop_path(self.name, drop_path)
        options = {"drop_path_rate": drop_path} if drop_path else {}
        try:
            model = timm.create_model(network, pretrained=pretrained, num_classes=0, **options)
        except Exception as error:  # many kinds of errors: no weights, no connection, no space
            raise UserError(
                f"timm cannot load {network!r}: {error}; check the connection and the free space"
            ) from error
        self.preprocessing = _preprocessing(timm.data.resolve_model_data_config(model), self.name)
        self.network: Any = model.eval().to(device)
        if not trainable:
            self.network.requires_grad_(False)
        self.dim, self.pooled_dim = measure_dims(self)

    def cells(self, pixels: Tensor) -> Tensor:
        """[batch, 3, size, size] -> [batch, dim, rows, columns]."""
        features = self.network.forward_features(pixels)
        prefix = getattr(self.network, "num_prefix_tokens", 0)
        return as_map(features, channels=self.network.num_features, prefix=prefix, name=self.name)

    def pooled(self, pixels: Tensor) -> Tensor:
        """[batch, 3, size, size] -> [batch, pooled_dim], the input of the network's classifier."""
        vectors: Tensor = self.network.forward_head(self.network.forward_features(pixels), pre_logits=True)
        return vectors

    def simplified(self) -> TimmBackbone:
        """The network is used as it is."""
        return self


def _has_drop_path(timm: Any, network: str) -> bool:
    """Whether a network skips residual branches when it is asked to; networks without any reject or ignore the option."""
    try:
        with torch.device("meta"):  # the shape alone, without memory for the weights
            model = timm.create_model(network, num_classes=0, drop_path_rate=0.5)
    except TypeError:
        return False
    return any(isinstance(part, timm.layers.DropPath) for part in model.modules())


def _preprocessing(config: dict[str, Any], name: str) -> Preprocessing:
    """Our form of timm's data configuration."""
    _, height, width = config["input_size"]
    # timm scales to size / crop_pct, rounded down to whole pixels, then cuts out `size`.
    keep = height / int(height / config["crop_pct"])
    return square_preprocessing(name, (width, height), config["crop_mode"], FITS, config, keep=keep)
