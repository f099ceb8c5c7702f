"""The packed sort of GPO against plain `torch.sort` on the CPU, measured in turns in one run.

python benchmarks/sort.py --out results/pooling
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from lingvis.files import write_json
from lingvis.hardware import describe_hardware
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens

SHAPE = (128, 49, 1024)
ROUNDS = 15


def plain(tokens: Tokens) -> Tensor:
    """What `sort_features` does, by torch's own sort."""
    lowest = torch.finfo(tokens.values.dtype).min
    columns = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), lowest).transpose(1, 2)
    ordered = columns.sort(dim=-1, descending=True).values
    valid = torch.arange(SHAPE[1]) < tokens.lengths.unsqueeze(1)
    return ordered * valid.unsqueeze(1)


def milliseconds(sort: Callable[[Tokens], Tensor], tokens: Tokens, backward: bool) -> float:
    start = time.perf_counter()
    found = sort(tokens)
    if backward:
        found.sum().backward()  # type: ignore[no-untyped-call]
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    torch.manual_seed(0)
    values, mask = torch.randn(SHAPE), torch.rand(SHAPE[:2]) < 0.8
    rows = []
    for backward in (False, True):
        tokens = Tokens(values.clone().requires_grad_(backward), mask)
        times: dict[str, list[float]] = {"torch.sort": [], "packed": []}
        for _ in range(ROUNDS):
            times["torch.sort"].append(milliseconds(plain, tokens, backward))
            times["packed"].append(milliseconds(sort_features, tokens, backward))
        medians = {name: statistics.median(each) for name, each in times.items()}
        rows.append({"backward": backward, "ms": medians, "ratio": medians["torch.sort"] / medians["packed"]})
    record = {
        "shape": SHAPE,
        "rounds": ROUNDS,
        "statistic": "median",
        "hardware": describe_hardware(),
        "rows": rows,
    }
    write_json(out / "sort.json", record)
    print(record)


if __name__ == "__main__":
    main()
