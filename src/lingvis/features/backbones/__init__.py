"""Backbones, frozen image networks: EfficientNet-Lite, and adapters for timm and open_clip."""

from __future__ import annotations

from lingvis.features.backbones import efficientnet_lite, open_clip_models, timm_models
from lingvis.features.backbones.contract import (
    BACKBONES,
    Backbone,
    BackboneInput,
    TrainableBackbone,
    load_backbone,
    load_trainable,
)

__all__ = [
    "BACKBONES",
    "Backbone",
    "BackboneInput",
    "TrainableBackbone",
    "efficientnet_lite",
    "load_backbone",
    "load_trainable",
    "open_clip_models",
    "timm_models",
]
