"""A folder of pictures in place of a collection: it is indexed in a process beside the server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lingvis.collection.places import default_place, is_picture_folder
from lingvis.collection.stores.open import open_store, store_exists
from lingvis.errors import UserError
from lingvis.progress import note

PATIENCE = 30.0  # seconds for which a first pass is waited for, once there are pictures to search
LOOK, SECONDS_TO_END = 0.2, 10


@contextlib.contextmanager
def kept_indexed(
    address: str, *, collection: str | None = None, model: Path | None = None, device: str | None = None
) -> Iterator[str]:
    """Yield the address of a collection: the given one or, for a folder of pictures, the one that it is indexed in.

    A new collection is yielded when it is complete, or after PATIENCE seconds, while indexing goes on; an existing one
    at once, and it is brought up to date meanwhile. collection: instead of the folder's default place.
    """
    if not is_picture_folder(address):
        if collection is not None:
            raise UserError(
                f"collection names the place of a folder's pictures, but {address} is no folder of pictures; "
                "leave it out, or name a folder"
            )
        yield address
        return
    place = collection or str(default_place(address))
    with _terminable(), _indexing(address, place, model, device) as process:
        _wait(process, Path(address), place)
        yield place


def _wait(process: subprocess.Popen[bytes], folder: Path, place: str) -> None:
    """Wait until there are pictures to search and the process has ended or had its time."""
    deadline = None if _pictures(place) else time.monotonic() + PATIENCE
    while process.poll() is None:
        if deadline is None or (time.monotonic() > deadline and _pictures(place)):
            note(f"{folder} is being indexed in {place}; the page finds new pictures at once")
            return
        time.sleep(LOOK)
    if process.returncode and not store_exists(place):
        sys.exit(process.returncode)  # its reason is printed already
    if process.returncode:
        note(f"{folder} could not be indexed; the page shows the pictures that {place} has")
    if not _pictures(place):
        raise UserError(
            f"{folder} holds no pictures that can be indexed; name a folder of pictures, or a collection"
        )


def _pictures(place: str) -> int:
    return open_store(place).count() if store_exists(place) else 0


@contextlib.contextmanager
def _indexing(
    folder: str, place: str, model: Path | None, device: str | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `lingvis index`, and stop it at the end; what it stored stays."""
    # -P: a file in the current folder must not be imported instead of a package.
    command = [sys.executable, "-P", "-c", "from lingvis.cli import main; main()", "index", place, folder]
    command += [
        "--prune",
        *(["--model", str(model)] if model else []),
        *(["--device", device] if device else []),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "LINGVIS_TOKEN"}
    # Its report goes to stderr: the first line of stdout is the server's address.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end this process by SystemExit, so that the other process is stopped too."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
