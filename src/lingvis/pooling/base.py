"""The registry of poolers: Tokens -> one vector a row."""

from __future__ import annotations

from torch import nn

from lingvis.registry import Registry

POOLERS: Registry[type[nn.Module]] = Registry("pooling")
