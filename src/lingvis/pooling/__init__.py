"""Stage 4: Tokens -> one vector. Every pooler is registered in `POOLERS` under the name recipes use."""

from __future__ import annotations

from lingvis.pooling.base import POOLERS, Pooler
from lingvis.pooling.gpo import GPO
from lingvis.pooling.heads import AttentionHeads
from lingvis.pooling.simple import First, KMax, Last, Max, Mean

__all__ = ["GPO", "POOLERS", "AttentionHeads", "First", "KMax", "Last", "Max", "Mean", "Pooler"]
