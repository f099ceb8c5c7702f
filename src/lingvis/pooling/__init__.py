"""Poolers: Tokens -> one vector. Importing this package registers every pooler."""

from __future__ import annotations

from lingvis.pooling.base import POOLERS, Pooler
from lingvis.pooling.gpo import GPO
from lingvis.pooling.heads import AttentionHeads
from lingvis.pooling.simple import First, KMax, Last, Max, Mean

__all__ = ["GPO", "POOLERS", "AttentionHeads", "First", "KMax", "Last", "Max", "Mean", "Pooler"]
