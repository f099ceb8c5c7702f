"""kill -9 at random moments of `lingvis index`, then the same command again: every file must be stored exactly once.

python -m studies crash [--images DIR] [--count 400] [--kills 20] [--engine lance]
python -m studies crash --postgres [postgresql://...]
python -m studies crash --ray [--engine lance]

With --ray it runs on two nodes of Ray on this machine, and a worker, a node and the command itself are killed in turn. After
the first two the command must finish by itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from PIL import Image

from lingvis.arrays import Floats
from lingvis.collection.stores.folder.header import Engine
from lingvis.collection.stores.open import open_store, store_exists
from studies.arguments import add_out, make_parser
from studies.crash.nodes import TwoNodes, two_nodes
from studies.records import RUNS, append
from studies.search.conditions import conditions, installed
from studies.search.model import make_untrained
from studies.search.postgres import running_server

SEED = 0
CLOSE = 1e-4  # other batches after a kill may change a vector by less
VICTIMS = ("worker", "node", "command")  # in turn, on nodes of Ray
ENGINES = {"sqlite": "SQLite", "lance": "LanceDB"}


@dataclass(frozen=True, slots=True)
class Indexing:
    """How pictures are indexed, apart from the address of the collection."""

    folder: Path
    model: Path
    engine: Engine | None = None  # None: not in a folder
    nodes: TwoNodes | None = None

    def start(self, collection: str) -> subprocess.Popen[str]:
        """A process of `lingvis index`."""
        program = str(Path(sys.executable).with_name("lingvis"))
        command = [program, "index", collection, str(self.folder), "--model", str(self.model), "--json"]
        if self.engine is not None:
            command += ["--engine", self.engine]
        if self.nodes is not None:
            command += [f"--ray={self.nodes.address}"]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that a kill reaches its children
        )


def make_pictures(folder: Path, count: int) -> None:
    """Smooth noise, a few folders deep; no two pictures are the same."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        place = folder / f"{number % 7}" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(small).resize((320, 240)).save(place / f"{number:05}.jpg")


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The report of a run, which must succeed."""
    out, errors = process.communicate()
    if process.returncode:
        sys.exit(f"lingvis index ended with code {process.returncode}: {errors[-2000:]}")
    report: dict[str, Any] = json.loads(out)
    return report


def rows(collection: str) -> list[str]:
    """Paths of all stored rows; none if the collection does not exist yet."""
    return [row.path for row in open_store(collection).files()] if store_exists(collection) else []


def embeddings(collection: str) -> dict[str, Floats]:
    """Path -> stored embedding."""
    store = open_store(collection)
    items = store.items([row.id for row in store.files()])
    return {item.info.path: item.embedding for item in items}


def undisturbed(collection: str, indexing: Indexing) -> tuple[float, float]:
    """Seconds until the collection exists, and until the run ends."""
    began = time.monotonic()
    process = indexing.start(collection)
    while process.poll() is None and not store_exists(collection):
        time.sleep(0.05)
    exists = time.monotonic() - began
    finish(process)
    return exists, time.monotonic() - began


def kill_command(process: subprocess.Popen[str]) -> None:
    """Kill `lingvis index` and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def one_kill(
    collection: str, indexing: Indexing, moment: float, expected: dict[str, Floats], victim: str
) -> dict[str, Any]:
    """Kill at a moment, read the stored rows, run again, and compare with the expected ones."""
    process, nodes = indexing.start(collection), indexing.nodes
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=moment)
    if victim == "command" or nodes is None:
        finished = process.poll() is not None
        kill_command(process)
    else:
        try:
            finished = not nodes.kill(victim, lambda: process.poll() is None)
            finish(process)  # the others do its work
        except BaseException:
            kill_command(process)
            raise
        nodes.repair()
    kept = rows(collection)
    report = finish(indexing.start(collection))
    counts = Counter(rows(collection))
    stored = embeddings(collection)
    return {
        "second": round(moment, 2),
        "victim": victim,
        "finished_before": finished,
        "rows_after_kill": len(kept),
        "added_again": report["added"],
        "missing": len(expected.keys() - counts.keys()),
        "twice": len(kept) - len(set(kept)) + sum(count - 1 for count in counts.values()),
        "unknown": len(counts.keys() - expected.keys()),
        "lost": len(set(kept))
        - report["unchanged"],  # the second run must accept all rows that the kill left
        "wrong_vectors": sum(
            path in stored and not np.allclose(stored[path], vector, atol=CLOSE)
            for path, vector in expected.items()
        ),
    }


@contextlib.contextmanager
def places(postgres: str | None, folder: Path) -> Iterator[Callable[[str], str]]:
    """A function from names to addresses of new collections: in a folder, in a given database, or on our own server."""
    with contextlib.ExitStack() as stack:
        if postgres is None:
            yield lambda name: str(folder / f"{name}.lv")
            return
        address = postgres or stack.enter_context(running_server(folder / "server"))[0]
        joint = "&" if "?" in address else "?"
        yield lambda name: f"{address}{joint}collection={name}"


def all_kills(
    place: Callable[[str], str], indexing: Indexing, expected: dict[str, Floats], *, kills: int, over: float
) -> list[dict[str, Any]]:
    """The rounds: one moment per equal part of the time `over`, so that every part is hit, also the one before the
    collection exists."""
    rng, rounds = random.Random(SEED), []
    for number in range(kills):
        victim = "command" if indexing.nodes is None else VICTIMS[number % len(VICTIMS)]
        moment, attempt = over * (number + rng.random()) / kills, 0
        while True:
            collection = place(f"kill-{number}-{attempt}")
            rounds.append(one_kill(collection, indexing, moment, expected, victim))
            print(rounds[-1], flush=True)
            if not rounds[-1]["finished_before"]:
                break
            moment, attempt = moment * 0.8, attempt + 1  # this run was quicker than the first
    return rounds


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, kill, append the record; any damage ends with an error."""
    parser = make_parser("crash", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--images", type=Path, help="a folder of pictures instead of made-up ones")
    parser.add_argument("--count", type=int, default=400, help="number of made-up pictures")
    parser.add_argument("--model", type=Path, help="untrained by default")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--engine", choices=get_args(Engine), default="sqlite", help="of collections in folders"
    )
    parser.add_argument("--ray", action="store_true", help="on two nodes of Ray, started here")
    parser.add_argument(
        "--postgres", nargs="?", const="", help="a database for this purpose alone; started here if not given"
    )
    args = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lingvis-crash-")))
        images = args.images or folder / "pictures"
        if args.images is None:
            make_pictures(images, args.count)
        indexing = Indexing(
            images,
            args.model or make_untrained(folder / "untrained"),
            args.engine if args.postgres is None else None,
            stack.enter_context(two_nodes()) if args.ray else None,
        )
        place = stack.enter_context(places(args.postgres, folder))
        exists, over = undisturbed(place("whole"), indexing)
        expected = embeddings(place("whole"))
        print(
            f"{len(expected)} pictures: {over:.1f} s, the collection exists after {exists:.1f} s", flush=True
        )
        rounds = all_kills(place, indexing, expected, kills=args.kills, over=over)
    wrong = ("missing", "twice", "unknown", "lost", "wrong_vectors")
    store = ENGINES[args.engine] if args.postgres is None else "PostgreSQL"
    kind = args.engine if args.postgres is None else "postgres"
    name = f"crash-ray-{kind}" if args.ray else "crash" if kind == "sqlite" else f"crash-{kind}"
    record = {
        "name": name,
        "study": "crash",
        **conditions(benchmark="kill -9 while indexing", seed=SEED),
        "store": f"{store}, two nodes of Ray" if args.ray else store,
        "pylance": installed("pylance"),  # with it, workers on Ray write rows into LanceDB
        "pictures": len(expected),
        "seconds_undisturbed": round(over, 1),
        "seconds_until_the_collection_is_there": round(exists, 1),
        "kills": sum(not each["finished_before"] for each in rounds),
        "rounds_without_fault": sum(not any(each[key] for key in wrong) for each in rounds),
        "rounds": rounds,
    }
    append(args.out / RUNS, record)
    if record["rounds_without_fault"] < len(rounds):
        sys.exit("a kill damaged a collection; see the record")


if __name__ == "__main__":
    main()
