"""Fifty clients and an attacker beside them: latencies calm and under each attack, from another address and the same.

python -m studies siege [--seconds 60] [--attacks guesses heads ...]

Each attack gets a fresh `lingvis serve` with a token. Clients send one request per second each; their time counts from
the moment at which a request is due. First they are alone, then the attacker begins.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.arguments import add_out, make_parser
from studies.load.served import served
from studies.records import RUNS, Record, append, check_writable
from studies.search.conditions import conditions
from studies.search.memory import memory_mb
from studies.search.model import make_untrained
from studies.search.typed import fill_collection
from studies.siege.attacks import ATTACKS
from studies.siege.clients import TIMEOUT

ROOT = Path(__file__).parents[2]
CLIENT_ADDRESS = "127.0.0.1"
SOURCES = {"other": "127.0.0.2", "same": CLIENT_ADDRESS}
WARM_UP = 8.0  # seconds of clients that do not count: they begin within five
SETTLE = 3.0  # seconds after the start of an attack that do not count: the attacker prepares and connects
ALLOWED_RATIO = 3.0  # of p95 under attack to p95 before it
ALLOWED_LOSS = 0.01  # share of requests without a result, under an attack from another address

Sample = tuple[float, str, float, str]  # due, kind, seconds, status


def measure(
    collection: str, attack: str, source: str, *, clients: int, calm: float, seconds: float
) -> Record:
    """Latencies of clients before and during an attack, and the effects on the server."""
    token = secrets.token_urlsafe()
    with (
        tempfile.TemporaryFile() as log,
        served(collection, token=token, log=log) as (port, server),
        _running("studies.siege.clients", port, token, clients, WARM_UP + calm + SETTLE + seconds) as peers,
    ):
        calm_from = time.monotonic() + WARM_UP
        time.sleep(WARM_UP + calm)
        logged, memory = log.seek(0, 2), memory_mb([server])
        attacked = time.monotonic()
        with _running("studies.siege.attacks", attack, port, source, token) as attacker:
            time.sleep(SETTLE + seconds)
            attacker.kill()
            connections = int(attacker.communicate()[0].split()[-1])
        output, _ = peers.communicate(timeout=2 * TIMEOUT)
        samples: list[Sample] = [tuple(json.loads(line)) for line in output.splitlines()]
        before = [sample for sample in samples if calm_from <= sample[0] < attacked]
        during = [sample for sample in samples if sample[0] >= attacked + SETTLE]
        numbers: Record = {
            "calm": latencies(before),
            "attacked": latencies(during),
            "connections_per_second": round(connections / (SETTLE + seconds), 1),
            "log_bytes": log.seek(0, 2) - logged,
            "memory_mb": {"before": round(memory, 1), "after": round(memory_mb([server]), 1)},
        }
    ratio = round(numbers["attacked"]["ms"]["p95"] / numbers["calm"]["ms"]["p95"], 2)
    return {**numbers, "p95_ratio": ratio, "allowed_ratio": ALLOWED_RATIO}


def latencies(samples: Sequence[Sample]) -> dict[str, Any]:
    """Percentiles in milliseconds of all requests but rejections (429), whose quick answers would flatter them."""
    statuses = Counter(status for *_, status in samples)
    times = [1000 * seconds for *_, seconds, status in samples if status != "429"] or [1000 * TIMEOUT]
    kinds = sorted({kind for _, kind, *_ in samples})
    return {
        "requests": len(samples),
        "statuses": dict(sorted(statuses.items())),
        "lost_share": round(1 - statuses["200"] / max(1, len(samples)), 4),
        "ms": {f"p{share}": round(float(np.percentile(times, share)), 1) for share in (50, 95, 99)},
        "ms_p95_by_kind": {
            kind: round(float(np.percentile([1000 * s for _, k, s, _ in samples if k == kind], 95)), 1)
            for kind in kinds
        },
    }


def problems(name: str, record: Record) -> Iterator[str]:
    """Criteria that a record does not meet; clients that share the attacker's address may be rejected with it."""
    if record["p95_ratio"] > ALLOWED_RATIO:
        yield f"{name}: p95 is {record['p95_ratio']} times the calm one"
    if record["source"] == "other" and record["attacked"]["lost_share"] > ALLOWED_LOSS:
        yield f"{name}: {record['attacked']['lost_share']:.1%} of the requests had no result"


@contextlib.contextmanager
def _running(module: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of a module, which ends with the block."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append a record per attack and source; a missed criterion ends with an error."""
    parser = make_parser("siege", __doc__)
    add_out(parser, "results/siege")
    parser.add_argument("--pictures", type=int, default=10_000, help="size of the made-up collection")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--calm", type=float, default=20, help="seconds before each attack")
    parser.add_argument("--seconds", type=float, default=60, help="seconds of each attack")
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    args = parser.parse_args(arguments)
    check_writable(args.out)
    about = conditions(
        benchmark="clients beside an attacker",
        pictures=args.pictures,
        clients=args.clients,
        seconds=args.seconds,
        calm_seconds=args.calm,
    )
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="lingvis-siege-") as folder:
        collection = str(Path(folder) / "collection.lv")
        fill_collection(collection, make_untrained(Path(folder) / "untrained"), args.pictures)
        for source, attack in itertools.product(args.sources, args.attacks):
            numbers = measure(
                collection,
                attack,
                SOURCES[source],
                clients=args.clients,
                calm=args.calm,
                seconds=args.seconds,
            )
            name = f"{attack}-{source}"
            record = {"name": name, "study": "siege", **about, "attack": attack, "source": source, **numbers}
            append(args.out / RUNS, record)
            print(name, json.dumps(numbers), flush=True)
            missed += problems(name, record)
    if missed:
        sys.exit("; ".join(missed))


if __name__ == "__main__":
    main()
