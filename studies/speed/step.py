"""Time of a training step, and of one without recording by phase and by its most expensive operations.

python -m studies step vse_infinity_region DATASET --out results/flickr8k-ml --steps 50 [section.key=value ...]
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from lingvis.device import choose_device
from lingvis.training.loop.optimizer import make_optimizer
from lingvis.training.loop.recorded import RECORD_AT
from lingvis.training.loop.step import make_step
from lingvis.training.prepare import prepare
from lingvis.training.run import open_with_features
from lingvis.training.validate import load_recipe
from lingvis.types import Clock
from studies.arguments import add_device, add_out, make_parser
from studies.records import RUNS, append, origin

WARM_UP = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record."""
    parser = make_parser("step", __doc__)
    parser.add_argument("recipe")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("overrides", nargs="*")
    add_out(parser, "results/flickr8k-ml")
    parser.add_argument("--name", default="step")
    parser.add_argument("--steps", type=int, default=50)
    add_device(parser)
    args = parser.parse_intermixed_args(arguments)
    recipe = load_recipe(args.recipe, args.overrides)
    device = choose_device(args.device)
    dataset, store = open_with_features(args.dataset, recipe.data.features)
    with tempfile.TemporaryDirectory() as folder:  # for the output of pre-training
        prepared = prepare(recipe, dataset, store, Path(folder), device)
    task = prepared.task
    optimizer = make_optimizer(task.trained, **recipe.optimizer.model_dump())
    batches = prepared.sampler.epoch(recipe.training.seed, 0)
    task.train()
    clock = Clock(step=10_000, epoch=10, learning_since=0)

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    take_step = make_step(task, optimizer, clip=recipe.training.clip)

    def step(rows: Any, mark: Callable[[str], None]) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss = task.loss(rows, clock)
        mark("forward and loss")
        loss.total.backward()  # type: ignore[no-untyped-call]
        mark("backward")
        torch.nn.utils.clip_grad_norm_(task.parameters(), recipe.training.clip or torch.inf)
        optimizer.step()
        mark("clip and optimiser")

    cycled = [batches[n % len(batches)] for n in range(args.steps)]
    # Steps of every shape are recorded before the measurement, if the recipe records them.
    for rows in cycled * RECORD_AT if task.recorded else cycled[:WARM_UP]:
        take_step(rows, clock)
    wait()
    start = time.perf_counter()
    for rows in cycled:
        take_step(rows, clock)
    host = (time.perf_counter() - start) / args.steps
    wait()
    total = (time.perf_counter() - start) / args.steps
    record = {
        "name": args.name,
        "study": "step",
        "recipe": args.recipe,
        "dataset": args.dataset.resolve().name,
        "dataset_sha256": dataset.fingerprint,
        "overrides": args.overrides,
        **origin(),
        "batch_size": recipe.training.batch_size,
        "steps": args.steps,
        "ms_per_step": 1000 * total,
        "host_ms_per_step": 1000 * host,
        "recorded": task.recorded,
        "seconds_per_epoch": total * len(batches),
        "phases_ms": _phases(step, cycled[:10], wait),
        "operations": _operations(step, cycled[:5], device),
    }
    append(args.out / RUNS, record)
    print({key: record[key] for key in ("ms_per_step", "host_ms_per_step", "seconds_per_epoch", "phases_ms")})
    for row in record["operations"][:12]:
        print(row)


def _phases(step: Any, batches: list[Any], wait: Callable[[], None]) -> dict[str, float]:
    """Milliseconds per phase, each ended by a wait: their sum exceeds the time of an undisturbed step."""
    spent: dict[str, float] = defaultdict(float)
    for rows in batches:
        last = time.perf_counter()

        def mark(name: str) -> None:
            nonlocal last
            wait()
            now = time.perf_counter()
            spent[name] += (now - last) * 1000 / len(batches)
            last = now

        step(rows, mark)
    return dict(spent)


def _operations(step: Any, batches: list[Any], device: torch.device) -> list[dict[str, Any]]:
    """The fifteen most expensive operations, by their own time on the device."""
    cuda = device.type == "cuda"
    activities = [ProfilerActivity.CUDA] if cuda else [ProfilerActivity.CPU]
    with profile(activities=activities) as watched:
        for rows in batches:
            step(rows, lambda name: None)
    events = [
        (event.self_device_time_total if cuda else event.self_cpu_time_total, event.key, event.count)
        for event in watched.key_averages()
    ]
    whole = sum(row[0] for row in events) or 1
    return [
        {
            "operation": key[:80],
            "ms_per_step": time_us / 1000 / len(batches),
            "share": time_us / whole,
            "calls": count / len(batches),
        }
        for time_us, key, count in sorted(events, reverse=True)[:15]
    ]


if __name__ == "__main__":
    main()
