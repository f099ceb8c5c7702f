"""Backbones, frozen image networks: EfficientNet-Lite, and adapters for timm and open_clip."""

from __future__ import annotations

from lingvis.features.backbones import efficientnet_lite, open_clip_models, timm_models
from lingvis.features.backbones.contract import BACKBONES, Backbone, load_backbone

__all__ = [
    "BACKBONES",
    "Backbone",
    "efficientnet_lite",
    "load_backbone",
    "open_clip_models",
    "timm_models",
]
