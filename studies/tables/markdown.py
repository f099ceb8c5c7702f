"""Markdown tables and numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A Markdown table; the first `left` columns are words, the others numbers."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows])


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds; a single seed has no deviation."""
    mean = f"{statistics.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"


def millions(count: float) -> str:
    """Millions with one decimal."""
    return f"{count / 1e6:.1f}"
