"""The verdict of a suggested choice of pictures against a random one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def verdict(chosen: Sequence[float], drawn: Sequence[float]) -> dict[str, Any]:
    """Whether one way is better by more than the larger standard deviation over seeds."""
    margin = statistics.mean(chosen) - statistics.mean(drawn)
    spread = max(statistics.stdev(each) if len(each) > 1 else 0.0 for each in (chosen, drawn))
    word = "no difference beyond the seeds' spread"
    if len(chosen) < 2:
        word = "none, one seed has no spread"
    elif abs(margin) > spread:
        word = "suggest is better" if margin > 0 else "random is better"
    return {"margin": margin, "spread": spread, "verdict": word}
