"""The packed sort of GPO against plain `torch.sort` on the CPU, measured in turns in one run.

python -m studies sort
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

SHAPE = (128, 49, 1024)
ROUNDS = 15


def plain(tokens: Tokens) -> Tensor:
    """The same as `sort_features`, by torch's own sort."""
    lowest = torch.finfo(tokens.values.dtype).min
    columns = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), lowest).transpose(1, 2)
    ordered = columns.sort(dim=-1, descending=True).values
    valid = torch.arange(SHAPE[1]) < tokens.lengths.unsqueeze(1)
    return ordered * valid.unsqueeze(1)


def milliseconds(sort: Callable[[Tokens], Tensor], tokens: Tokens, backward: bool) -> float:
    """The time of one sort, with its backward pass if asked for."""
    start = time.perf_counter()
    ordered = sort(tokens)
    if backward:
        ordered.sum().backward()  # type: ignore[no-untyped-call]
    return 1000 * (time.perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turns, append the record."""
    parser = make_parser("sort", __doc__)
    add_out(parser, "results/pooling")
    out = parser.parse_args(arguments).out
    torch.manual_seed(0)
    values, mask = torch.randn(SHAPE), torch.rand(SHAPE[:2]) < 0.8
    rows = []
    for backward in (False, True):
        tokens = Tokens(values.clone().requires_grad_(backward), mask)
        times: dict[str, list[float]] = {"torch.sort": [], "packed": []}
        for _ in range(ROUNDS):
            times["torch.sort"].append(milliseconds(plain, tokens, backward))
            times["packed"].append(milliseconds(sort_features, tokens, backward))
        medians = {name: statistics.median(of_name) for name, of_name in times.items()}
        rows.append({"backward": backward, "ms": medians, "ratio": medians["torch.sort"] / medians["packed"]})
    record = {
        "name": "sort",
        "study": "sort",
        "shape": SHAPE,
        "rounds": ROUNDS,
        "statistic": "median",
        **origin(),
        "rows": rows,
    }
    append(out / RUNS, record)
    print(record)


if __name__ == "__main__":
    main()
