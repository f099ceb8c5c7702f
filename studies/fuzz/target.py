"""The target of all cases: a small model, a collection of its pictures, and a server of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from studies.fuzz.pictures import originals
from studies.load.served import served
from studies.search.model import make_untrained

SMALL = ["image.encoder.dim=16", "text.encoder.dim=16", "text.words.dim=8", "text.tokenizer.min_count=1"]
INDEXING_SECONDS = 300.0


@dataclass(frozen=True)
class Target:
    """Places of a model folder and of a collection that it filled."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def collection(self) -> Path:
        return self.folder / "photos.lv"


@dataclass(frozen=True)
class Server:
    """A running server: its port, the file of its messages, and the id of an indexed picture."""

    port: int
    log: Path
    id: str


def make_target(folder: Path) -> Target:
    """Make the model and index one picture of each format."""
    target = Target(folder)
    make_untrained(target.model, "demo", SMALL)
    photos = folder / "photos"
    photos.mkdir()
    for name, data in originals().items():
        (photos / f"{name}.{name.partition('-')[0]}").write_bytes(data)
    done = index(target.collection, photos, target.model)
    if done.returncode:
        sys.exit(f"lingvis index ended with code {done.returncode}: {done.stderr[-2000:]}")
    return target


def index(collection: Path, folder: Path, model: Path) -> subprocess.CompletedProcess[str]:
    """A finished process of `lingvis index --json`."""
    program = Path(sys.executable).with_name("lingvis")
    return subprocess.run(
        [program, "index", collection, folder, "--model", model, "--device", "cpu", "--json"],
        capture_output=True,
        text=True,
        timeout=INDEXING_SECONDS,
    )


@contextlib.contextmanager
def serving(target: Target) -> Iterator[Server]:
    """A server of the collection, without a token, so that every route can be reached."""
    log = target.folder / "server.log"
    with log.open("wb") as file, served(str(target.collection), log=file) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/api/search?q=dog&k=1")
        (hit,) = json.loads(connection.getresponse().read())["hits"]
        connection.close()
        yield Server(port, log, hit["id"])
