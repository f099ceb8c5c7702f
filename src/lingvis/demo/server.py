"""A temporary server process, started like a user's."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

SECONDS_TO_START, SECONDS_TO_END = 120, 15


class CheckError(Exception):
    """The server does not answer, or answers wrongly; the message is the reason."""


@contextlib.contextmanager
def serving(collection: Path, *, device: str | None = None) -> Iterator[int]:
    """Run `lingvis serve` at a free port of this machine; yields the port."""
    # -P: a file in the current folder must not be imported instead of a package.
    command = [sys.executable, "-P", "-c", "from lingvis.cli import main; main()"]
    command += ["serve", str(collection), "--port", "0", *(["--device", device] if device else [])]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
            errors="replace",
            # No token: with a token of the environment the check would be rejected.
            env={name: value for name, value in os.environ.items() if name != "LINGVIS_TOKEN"},
        ) as process,
    ):
        try:
            yield _port(process, log)
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def _port(process: subprocess.Popen[str], log: IO[str]) -> int:
    """Return the port that the server prints when it is ready."""
    assert process.stdout is not None
    timer = threading.Timer(SECONDS_TO_START, process.kill)  # ends the wait for a line
    timer.start()
    try:
        match = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    finally:
        timer.cancel()
    if match is None:
        process.kill()
        process.wait()
        log.seek(0)
        lines = log.read().strip().splitlines() or [f"it printed nothing within {SECONDS_TO_START} s"]
        raise CheckError(f"the server did not start: {lines[-1].removeprefix('lingvis: ')}")
    return int(match[1])
