"""Many clients at once against a real `lingvis serve`: errors, latencies, requests per second, the server's memory.

python -m studies load [--collection photos.lv] [--clients 50] [--seconds 60]
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

from studies.arguments import add_out, make_parser
from studies.records import RUNS, append
from studies.search.conditions import conditions
from studies.search.measure import milliseconds
from studies.search.memory import memory_mb
from studies.search.model import PHRASES, make_untrained, sentences
from studies.search.typed import fill_collection

THUMBNAILS = 4  # fetched after a search, as by a page that shows its first results
SECONDS_TO_START = 120.0
BETWEEN_SAMPLES = 5.0
GROWTH_SHARE, GROWTH_MB = 0.1, 50.0  # of the server's memory; more of both is a leak
LONGEST_WAIT = 2.0  # most seconds that a client waits after 429


class Client(threading.Thread):
    """Searches and fetches thumbnails of the hits, without a pause, until the time is over."""

    def __init__(self, number: int, port: int, until: float) -> None:
        super().__init__(daemon=True)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[str] = Counter()
        self._random, self._until = random.Random(number), until
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def run(self) -> None:
        """Repeat searches and thumbnails."""
        queries = sentences(list(PHRASES), 10_000)
        while time.monotonic() < self._until:
            query = urlencode({"q": self._random.choice(queries), "k": 20})
            answer = self._get("search", f"/api/search?{query}")
            hits = json.loads(answer)["hits"] if answer is not None else []
            for hit in hits[:THUMBNAILS]:
                self._get("thumbnail", f"/api/items/{hit['id']}/thumbnail")

    def _get(self, kind: str, path: str) -> bytes | None:
        """The body of the answer, None after an error; every answer is counted by its status."""
        began = time.perf_counter()
        try:
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.statuses[type(error).__name__] += 1
            self._connection.close()
            return None
        self.statuses[str(answer.status)] += 1
        if answer.status == 200:
            self.times[kind].append(time.perf_counter() - began)
            return body
        if answer.status == 429:
            time.sleep(min(float(answer.headers.get("Retry-After", 1)), LONGEST_WAIT))
        return None


@contextlib.contextmanager
def served(
    collection: str, *, token: str | None = None, log: IO[bytes] | None = None
) -> Iterator[tuple[int, int]]:
    """A server that answers: its port and process; it ends with the block. log: the file of its messages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("lingvis")
    server = subprocess.Popen(
        [program, "serve", collection, "--port", str(port)],
        stdout=sys.stderr if log is None else log,
        stderr=log,
        env=os.environ | ({} if token is None else {"LINGVIS_TOKEN": token}),
    )
    try:
        _wait_until_ready(server, port)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(30)


def _wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        if server.poll() is not None:
            sys.exit(f"lingvis serve ended with code {server.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError):
            connection.request("GET", "/api/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    sys.exit(f"lingvis serve did not answer within {SECONDS_TO_START:.0f} s")


def error_problems(errors: dict[str, int]) -> Iterator[str]:
    """Answers that were neither results nor 429."""
    if errors:
        counted = ", ".join(f"{count} x {status}" for status, count in sorted(errors.items()))
        yield f"there were errors: {counted}"


def growth_problems(memory: dict[str, float]) -> Iterator[str]:
    """Growth of the server's memory after its first ten seconds, in which everything it keeps is loaded."""
    before, after = memory["after_10_s"], memory["end"]
    if after > before * (1 + GROWTH_SHARE) and after > before + GROWTH_MB:
        yield f"the server's memory keeps growing: {before:.0f} MB after 10 s, {after:.0f} MB at the end"


def measure(collection: str, clients: int, seconds: float) -> dict[str, Any]:
    """Run all clients at once, and sample the memory of the server from start to end."""
    with served(collection) as (port, server):
        memory = {0.0: memory_mb([server])}
        start = time.monotonic()
        everyone = [Client(number, port, start + seconds) for number in range(clients)]
        for client in everyone:
            client.start()
        while (now := time.monotonic()) < start + seconds:
            time.sleep(min(BETWEEN_SAMPLES, start + seconds - now))
            memory[round(time.monotonic() - start, 1)] = memory_mb([server])
        for client in everyone:
            client.join()
        took = time.monotonic() - start
    statuses = sum((client.statuses for client in everyone), Counter[str]())
    times = {
        kind: [each for client in everyone for each in client.times[kind]] for kind in ("search", "thumbnail")
    }
    errors = {status: count for status, count in statuses.items() if status not in ("200", "429")}
    at_ten = min(memory, key=lambda moment: abs(moment - 10))
    return {
        "clients": clients,
        "seconds": round(took, 1),
        "statuses": dict(sorted(statuses.items())),
        "errors": errors,
        "answers_per_second": round(sum(map(len, times.values())) / took, 1),
        "searches_per_second": round(len(times["search"]) / took, 1),
        "ms": {kind: milliseconds(each) for kind, each in times.items() if each},
        "memory_mb": {
            "start": round(memory[0.0], 1),
            "after_10_s": round(memory[at_ten], 1),
            "end": round(memory[max(memory)], 1),
            "all": {f"{moment:g}": round(mb, 1) for moment, mb in memory.items()},
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, measure, append the record; problems end with an error."""
    parser = make_parser("load", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--collection", help="a made-up one by default")
    parser.add_argument("--pictures", type=int, default=100_000, help="size of the made-up collection")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="lingvis-load-") as folder:
        collection = args.collection
        if collection is None:
            collection = str(Path(folder) / "collection.lv")
            fill_collection(collection, make_untrained(Path(folder) / "untrained"), args.pictures)
        numbers = measure(collection, args.clients, args.seconds)
    pictures = None if args.collection else args.pictures
    about = conditions(benchmark="clients of lingvis serve", pictures=pictures)
    append(args.out / RUNS, {"name": "load", "study": "load", **about, **numbers})
    print(json.dumps(numbers, indent=2))
    if problems := [*error_problems(numbers["errors"]), *growth_problems(numbers["memory_mb"])]:
        sys.exit("; ".join(problems))


if __name__ == "__main__":
    main()
