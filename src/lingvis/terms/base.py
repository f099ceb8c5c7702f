"""Terms of the loss."""

from __future__ import annotations

from torch import nn

from lingvis.registry import Registry

TERMS: Registry[type[nn.Module]] = Registry("training term")
