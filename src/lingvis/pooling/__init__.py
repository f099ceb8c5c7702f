"""Poolers: Tokens -> one vector. Importing this package registers every pooler."""

from __future__ import annotations

from lingvis.pooling.base import POOLERS, Pooler
from lingvis.pooling.gpo import GPO
from lingvis.pooling.heads import AttentionHeads
from lingvis.pooling.memory import MemoryAttention
from lingvis.pooling.simple import First, KMax, Last, Max, Mean
from lingvis.registry import import_parts

__all__ = [
    "GPO",
    "POOLERS",
    "AttentionHeads",
    "First",
    "KMax",
    "Last",
    "Max",
    "Mean",
    "MemoryAttention",
    "Pooler",
]

import_parts(__name__, __path__)
