"""kill -9 at random moments of `lingvis index`, then the same command again: every file must be stored exactly once.

python -m studies crash [--images DIR] [--count 400] [--kills 20]
python -m studies crash --postgres [postgresql://...]
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
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lingvis.arrays import Floats
from lingvis.collection.stores.open import open_store, store_exists
from studies.arguments import add_out, make_parser
from studies.records import RUNS, append
from studies.search.conditions import conditions
from studies.search.model import make_untrained
from studies.search.postgres import running_server

SEED = 0
CLOSE = 1e-4  # other batches after a kill may change a vector by less


def make_pictures(folder: Path, count: int) -> None:
    """Smooth noise, a few folders deep; no two pictures are the same."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        place = folder / f"{number % 7}" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(small).resize((320, 240)).save(place / f"{number:05}.jpg")


def start(collection: str, folder: Path, model: Path) -> subprocess.Popen[str]:
    """A process of `lingvis index`."""
    program = Path(sys.executable).with_name("lingvis")
    return subprocess.Popen(
        [program, "index", collection, folder, "--model", model, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a kill reaches its children
    )


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


def undisturbed(collection: str, folder: Path, model: Path) -> tuple[float, float]:
    """Seconds until the collection exists, and until the run ends."""
    began = time.monotonic()
    process = start(collection, folder, model)
    while process.poll() is None and not store_exists(collection):
        time.sleep(0.05)
    exists = time.monotonic() - began
    finish(process)
    return exists, time.monotonic() - began


def one_kill(
    collection: str, folder: Path, model: Path, moment: float, expected: dict[str, Floats]
) -> dict[str, Any]:
    """Kill at a moment, read the stored rows, run again, and compare with the expected ones."""
    process = start(collection, folder, model)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=moment)
    finished = process.poll() is not None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = rows(collection)
    report = finish(start(collection, folder, model))
    counts = Counter(rows(collection))
    stored = embeddings(collection)
    return {
        "second": round(moment, 2),
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, kill, append the record; any damage ends with an error."""
    parser = make_parser("crash", __doc__)
    add_out(parser, "results/search")
    parser.add_argument("--images", type=Path, help="a folder of pictures instead of made-up ones")
    parser.add_argument("--count", type=int, default=400, help="number of made-up pictures")
    parser.add_argument("--model", type=Path, help="untrained by default")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--postgres", nargs="?", const="", help="a database for this purpose alone; started here if not given"
    )
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="lingvis-crash-") as name:
        folder = Path(name)
        model = args.model or make_untrained(folder / "untrained")
        images = args.images or folder / "pictures"
        if args.images is None:
            make_pictures(images, args.count)
        with places(args.postgres, folder) as place:
            exists, over = undisturbed(place("whole"), images, model)
            expected = embeddings(place("whole"))
            print(
                f"{len(expected)} pictures: {over:.1f} s, the collection exists after {exists:.1f} s",
                flush=True,
            )
            rng = random.Random(SEED)
            rounds = []
            for number in range(args.kills):
                # One moment per equal part of the time, so that every part is hit, also the one before the
                # collection exists.
                moment = over * (number + rng.random()) / args.kills
                attempt = 0
                while True:
                    rounds.append(
                        one_kill(place(f"kill-{number}-{attempt}"), images, model, moment, expected)
                    )
                    print(rounds[-1], flush=True)
                    if not rounds[-1]["finished_before"]:
                        break
                    moment, attempt = moment * 0.8, attempt + 1  # this run was quicker than the first
    wrong = ("missing", "twice", "unknown", "lost", "wrong_vectors")
    record = {
        "name": "crash" if args.postgres is None else "crash-postgres",
        "study": "crash",
        **conditions(benchmark="kill -9 while indexing", seed=SEED),
        "store": "SQLite" if args.postgres is None else "PostgreSQL",
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
