"""What every generated table is made of: records read, numbers written, Markdown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Markdown; the first `left` columns are words, the others numbers."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows])


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds; of one seed the number alone."""
    mean = f"{statistics.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"


def millions(count: float) -> str:
    return f"{count / 1e6:.1f}"
