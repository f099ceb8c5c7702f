"""Servers of a study: processes on loopback ports that end with the study."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

SECONDS_TO_START = 120.0


@contextlib.contextmanager
def served(
    collection: str, *, token: str | None = None, workers: int = 1, log: IO[bytes] | None = None
) -> Iterator[tuple[int, int]]:
    """A `lingvis serve` that answers: its port and process; it ends with the block. log: the file of its messages."""
    program = str(Path(sys.executable).with_name("lingvis"))
    command = [program, "serve", collection, *(["--workers", str(workers)] if workers > 1 else [])]
    with running(command, {} if token is None else {"LINGVIS_TOKEN": token}, log=log) as server:
        yield server


@contextlib.contextmanager
def running(
    command: Sequence[str], environment: Mapping[str, str], *, log: IO[bytes] | None = None
) -> Iterator[tuple[int, int]]:
    """A server that answers /api/health: its port, which is added to the command, and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*command, "--port", str(port)],
        stdout=sys.stderr if log is None else log,
        stderr=log,
        env=os.environ | environment,
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
            sys.exit(f"the server ended with code {server.returncode}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.suppress(OSError):
            connection.request("GET", "/api/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    sys.exit(f"the server did not answer within {SECONDS_TO_START:.0f} s")
