"""Many clients at once against a real `lingvis serve`: errors, latencies, requests per second, the server's memory.

python -m studies load [--collection photos.lv] [--clients 50] [--seconds 60] [--workers 1]

The same clients ask a minimal handler before and after, so that a ratio tells what the server costs on any machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lingvis.hardware import core_count
from lingvis.pretrained import find_model
from studies.arguments import add_out, make_parser
from studies.load.clients import Answers, ask
from studies.load.minimal import COLLECTION
from studies.load.served import running, served
from studies.records import RUNS, append, check_writable
from studies.search.conditions import conditions
from studies.search.measure import milliseconds
from studies.search.memory import memory_mb
from studies.search.typed import fill_collection

ROOT = Path(__file__).parents[2]
BETWEEN_SAMPLES = 5.0
GROWTH_SHARE, GROWTH_MB = 0.1, 50.0  # of the server's memory; more of both is a leak
BASELINE_SHARE = 0.25  # of the seconds: the minimal handler before, and again after
WARM_UP = 3.0  # seconds that do not count: every sentence is encoded once


def error_problems(errors: dict[str, int]) -> Iterator[str]:
    """Answers that were neither results nor 429."""
    if errors:
        counted = ", ".join(f"{count} x {status}" for status, count in sorted(errors.items()))
        yield f"there were errors: {counted}"


def growth_problems(memory: dict[str, float]) -> Iterator[str]:
    """Growth of the server's memory in the second half; before, the connections to the database fill their caches."""
    before, after = memory["middle"], memory["end"]
    if after > before * (1 + GROWTH_SHARE) and after > before + GROWTH_MB:
        yield f"the server's memory keeps growing: {before:.0f} MB in the middle, {after:.0f} MB at the end"


async def measure(collection: str, clients: int, seconds: float, workers: int) -> dict[str, Any]:
    """Ask the minimal handler, the server, and the handler again; sample the memory of the server meanwhile."""
    command = [sys.executable, "-m", "studies.load.minimal", "--workers", str(workers)]
    with (
        running(command, {COLLECTION: collection, "PYTHONPATH": str(ROOT)}) as (baseline_port, _),
        served(collection, workers=workers) as (port, server),
    ):
        memory = {0.0: memory_mb([server])}
        for each in (baseline_port, port):
            await ask(each, clients, WARM_UP)
        before = await _asked(baseline_port, clients, seconds * BASELINE_SHARE)
        sampling = asyncio.create_task(_sample(server, memory))
        answers, took, cores = await _asked(port, clients, seconds)
        sampling.cancel()
        after = await _asked(baseline_port, clients, seconds * BASELINE_SHARE)
    numbers = _rates(answers, took)
    baseline = _rates(before[0], before[1]), _rates(after[0], after[1])
    rate = (
        before[1] * baseline[0]["searches_per_second"] + after[1] * baseline[1]["searches_per_second"]
    ) / (before[1] + after[1])
    at_ten, middle = (_nearest(memory, moment) for moment in (10.0, took / 2))
    return {
        "clients": clients,
        "workers": workers,
        "seconds": round(took, 1),
        "statuses": dict(sorted(answers.statuses.items())),
        "errors": answers.errors,
        **numbers,
        "cores_used_by_clients": round(cores, 2),
        "minimal_handler": {"before": baseline[0], "after": baseline[1]},
        "ratio_to_minimal_handler": round(numbers["searches_per_second"] / rate, 3),
        "memory_mb": {
            "start": round(memory[0.0], 1),
            "after_10_s": round(at_ten, 1),
            "middle": round(middle, 1),
            "end": round(memory[max(memory)], 1),
            "all": {f"{moment:g}": round(mb, 1) for moment, mb in memory.items()},
        },
    }


async def _asked(port: int, clients: int, seconds: float) -> tuple[Answers, float, float]:
    """The answers, the seconds, and the cores that the clients kept busy."""
    busy = time.process_time()
    answers, took = await ask(port, clients, seconds)
    return answers, took, (time.process_time() - busy) / took


async def _sample(server: int, memory: dict[float, float]) -> None:
    start = time.monotonic()
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(BETWEEN_SAMPLES)
            sample = await asyncio.to_thread(memory_mb, [server])
            memory[round(time.monotonic() - start, 1)] = sample


def _nearest(memory: dict[float, float], moment: float) -> float:
    """The sample that is nearest to a moment."""
    return memory[min(memory, key=lambda sampled: abs(sampled - moment))]


def _rates(answers: Answers, seconds: float) -> dict[str, Any]:
    return {
        "answers_per_second": round(sum(map(len, answers.seconds.values())) / seconds, 1),
        "searches_per_second": round(len(answers.seconds["search"]) / seconds, 1),
        "ms": {kind: milliseconds(times) for kind, times in sorted(answers.seconds.items()) if times},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record; problems end with an error."""
    parser = make_parser("load", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--collection", help="a made-up one by default")
    parser.add_argument("--pictures", type=int, default=100_000, help="size of the made-up collection")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, core_count()])
    args = parser.parse_args(arguments)
    check_writable(args.out)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="lingvis-load-") as folder:
        collection = args.collection
        if collection is None:
            collection = str(Path(folder) / "collection.lv")
            fill_collection(collection, find_model(), args.pictures)
        pictures = None if args.collection else args.pictures
        about = conditions(benchmark="clients of lingvis serve", pictures=pictures)
        for workers in args.workers:
            numbers = asyncio.run(measure(collection, args.clients, args.seconds, workers))
            name = "load" if workers == 1 else f"load-{workers}-workers"
            append(args.out / RUNS, {"name": name, "study": "load", **about, **numbers})
            print(json.dumps(numbers, indent=2))
            problems += [*error_problems(numbers["errors"]), *growth_problems(numbers["memory_mb"])]
    if problems:
        sys.exit("; ".join(problems))


if __name__ == "__main__":
    main()
