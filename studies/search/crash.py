"""kill -9 at random moments of `lingvis index`, from its start on, then the same command again.

Every file must be there exactly once afterwards.

python benchmarks/crash.py --out results/search/crash.json [--images DIR] [--count 400] [--kills 20]
python benchmarks/crash.py --out results/search/crash-postgres.json --postgres [postgresql://...]
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lingvis.collection.stores.open import open_store, store_exists
from lingvis.collection.stores.records import Floats
from lingvis.files import write_json
from studies.search.model import make_untrained
from studies.search.postgres import running_server
from studies.search.records import conditions

SEED = 0
CLOSE = 1e-4  # batches that a kill has put together anew may move a vector by less


def make_pictures(folder: Path, count: int) -> None:
    """Smooth noise, a few folders deep; no two are alike."""
    rng = np.random.default_rng(SEED)
    for number in range(count):
        place = folder / f"{number % 7}" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(small).resize((320, 240)).save(place / f"{number:05}.jpg")


def start(collection: str, folder: Path, model: Path) -> subprocess.Popen[str]:
    program = Path(sys.executable).with_name("lingvis")
    return subprocess.Popen(
        [program, "index", collection, folder, "--model", model, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that a kill reaches all that it has started
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The report of a run that must end well."""
    out, errors = process.communicate()
    if process.returncode:
        sys.exit(f"lingvis index ended with code {process.returncode}: {errors[-2000:]}")
    report: dict[str, Any] = json.loads(out)
    return report


def rows(collection: str) -> list[str]:
    """Paths of all rows that are stored, none for a collection that was not yet there."""
    return [row.path for row in open_store(collection).files()] if store_exists(collection) else []


def embeddings(collection: str) -> dict[str, Floats]:
    store = open_store(collection)
    items = store.items([row.id for row in store.files()])
    return {item.info.path: item.embedding for item in items}


def undisturbed(collection: str, folder: Path, model: Path) -> tuple[float, float]:
    """Seconds until the collection is there, and until the run is over."""
    began = time.monotonic()
    process = start(collection, folder, model)
    while process.poll() is None and not store_exists(collection):
        time.sleep(0.05)
    there = time.monotonic() - began
    finish(process)
    return there, time.monotonic() - began


def one_kill(
    collection: str, folder: Path, model: Path, moment: float, expected: dict[str, Floats]
) -> dict[str, Any]:
    """Kill at a moment, see what is stored, run again, and compare with what must be there."""
    process = start(collection, folder, model)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=moment)
    finished = process.poll() is not None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = rows(collection)
    report = finish(start(collection, folder, model))
    found = Counter(rows(collection))
    stored = embeddings(collection)
    return {
        "second": round(moment, 2),
        "finished_before": finished,
        "rows_after_kill": len(kept),
        "added_again": report["added"],
        "missing": len(expected.keys() - found.keys()),
        "twice": len(kept) - len(set(kept)) + sum(count - 1 for count in found.values()),
        "unknown": len(found.keys() - expected.keys()),
        "lost": len(set(kept)) - report["unchanged"],  # of what the kill left, all must be found in order
        "wrong_vectors": sum(
            path in stored and not np.allclose(stored[path], vector, atol=CLOSE)
            for path, vector in expected.items()
        ),
    }


@contextlib.contextmanager
def places(postgres: str | None, folder: Path) -> Iterator[Callable[[str], str]]:
    """Addresses for new collections by name: in a folder, in a database that is given, or on a server of our own."""
    with contextlib.ExitStack() as stack:
        if postgres is None:
            yield lambda name: str(folder / f"{name}.lv")
            return
        address = postgres or stack.enter_context(running_server(folder / "server"))[0]
        joint = "&" if "?" in address else "?"
        yield lambda name: f"{address}{joint}collection={name}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--images", type=Path, help="a folder of pictures instead of made ones")
    parser.add_argument("--count", type=int, default=400, help="of made pictures")
    parser.add_argument("--model", type=Path, help="untrained by default")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--postgres", nargs="?", const="", help="a database for this purpose alone; started here if not given"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lingvis-crash-") as name:
        folder = Path(name)
        model = args.model or make_untrained(folder / "untrained")
        images = args.images or folder / "pictures"
        if args.images is None:
            make_pictures(images, args.count)
        with places(args.postgres, folder) as place:
            there, over = undisturbed(place("whole"), images, model)
            expected = embeddings(place("whole"))
            print(
                f"{len(expected)} pictures: {over:.1f} s, the collection is there after {there:.1f} s",
                flush=True,
            )
            rng = random.Random(SEED)
            rounds = []
            for number in range(args.kills):
                # One moment in each of as many equal parts of the time, so that no part is left out, not even the
                # one before the collection is there.
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
        **conditions(benchmark="kill -9 while indexing", seed=SEED),
        "store": "LanceDB" if args.postgres is None else "PostgreSQL",
        "pictures": len(expected),
        "seconds_undisturbed": round(over, 1),
        "seconds_until_the_collection_is_there": round(there, 1),
        "kills": sum(not each["finished_before"] for each in rounds),
        "rounds_without_fault": sum(not any(each[key] for key in wrong) for each in rounds),
        "rounds": rounds,
    }
    write_json(args.out, record)
    if record["rounds_without_fault"] < len(rounds):
        sys.exit("a kill has done harm; look at the record")


if __name__ == "__main__":
    main()
