"""Word parts: token ids -> one vector per word, before any context."""

from __future__ import annotations

from torch import nn

from lingvis.registry import Registry

WORDS: Registry[type[nn.Module]] = Registry("word part")
