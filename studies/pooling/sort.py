"""The hot spot of GPO against plain `torch.sort`, measured in turns in one run.

python -m studies sort                   CPU: the packed sort against torch.sort
python -m studies sort --device cuda     NVIDIA GPU: sorting, weighting and summing in one kernel against torch's operations
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lingvis.device import choose_device
from lingvis.pooling.fused import weigh_sorted
from lingvis.pooling.gpo import weigh
from lingvis.pooling.sorting import sort_features
from lingvis.types import Tokens
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append, origin

CELLS, WORDS = (128, 49, 1024), (2560, 24, 1024)
ROUNDS = 15


def plain(tokens: Tokens) -> Tensor:
    """The same as `sort_features`, by torch's own sort."""
    lowest = torch.finfo(tokens.values.dtype).min
    columns = tokens.values.masked_fill(~tokens.mask.unsqueeze(-1), lowest).transpose(1, 2)
    ordered = columns.sort(dim=-1, descending=True).values
    valid = torch.arange(tokens.mask.shape[1], device=columns.device) < tokens.lengths.unsqueeze(1)
    return ordered * valid.unsqueeze(1)


def plain_pooling(tokens: Tokens, weights: Tensor) -> Tensor:
    """The same as `weigh_sorted`, by torch's operations."""
    return weigh(plain(tokens), weights.unsqueeze(1))


def milliseconds(compute: Callable[[Tokens], Tensor], tokens: Tokens, backward: bool) -> float:
    """The time of one computation, with its backward pass if asked for."""
    if tokens.values.is_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    computed = compute(tokens)
    if backward:
        computed.sum().backward()  # type: ignore[no-untyped-call]
    if tokens.values.is_cuda:
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start)


def compared(
    ways: Mapping[str, Callable[[Tokens], Tensor]], values: Tensor, mask: Tensor, backward: bool
) -> dict[str, Any]:
    """The medians of two ways, measured in turns; the first one is the baseline."""
    tokens = Tokens(values.clone().requires_grad_(backward), mask)
    for compute in ways.values():
        milliseconds(compute, tokens, backward)  # compiles
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, compute in ways.items():
            times[name].append(milliseconds(compute, tokens, backward))
    medians = {name: statistics.median(of_name) for name, of_name in times.items()}
    baseline, ours = medians.values()
    return {
        "shape": tuple(values.shape),
        "type": str(values.dtype).removeprefix("torch."),
        "backward": backward,
        "ms": medians,
        "ratio": baseline / ours,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turns, append the record."""
    parser = make_parser("sort", __doc__)
    add_out(parser, "results/pooling")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    args = parser.parse_args(arguments)
    device = choose_device(args.device)
    torch.manual_seed(0)
    rows = []
    for shape in (CELLS, WORDS) if device.type == "cuda" else (CELLS,):
        values, mask = torch.randn(shape), torch.rand(shape[:2]) < 0.8
        mask[:, 0] = True
        ways: dict[str, Callable[[Tokens], Tensor]] = {"torch.sort": plain, "packed": sort_features}
        if device.type == "cuda":
            values, mask = values.to(device, torch.bfloat16), mask.to(device)
            rank = torch.arange(shape[1], device=device)
            weights = torch.rand(shape[:2], device=device) * (rank < mask.sum(dim=1, keepdim=True))
            ways = {
                "torch": partial(plain_pooling, weights=weights),
                "one kernel": partial(weigh_sorted, weights=weights),
            }
        rows += [compared(ways, values, mask, backward) for backward in (False, True)]
    record = {
        "name": "sort" if device.type == "cpu" else f"sort-{device.type}",
        "study": "sort",
        "rounds": ROUNDS,
        "statistic": "median",
        **origin(),
        "rows": rows,
    }
    append(args.out / RUNS, record)
    print(record)


if __name__ == "__main__":
    main()
