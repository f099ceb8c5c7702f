"""The PostgreSQL server of a measurement: durable, with the memory settings of a dedicated machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from studies.postgres_server import PostgresServer, has_server, stop_left_over

SERVER = "server"  # the folder, below that of an engine
DATABASE = "postgres"

__all__ = ["SERVER", "has_server", "running_server", "stop_left_over"]


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[tuple[str, int]]:
    """A server that stops with the block: its address and process; its data stay in `folder`.

    The two folders above belong to the measurement: root opens them for the user that runs the server.
    """
    if os.geteuid() == 0:
        for above in folder.resolve().parents[:2]:
            above.chmod(above.stat().st_mode | 0o001)
    server = PostgresServer(folder, _settings())
    try:
        server.start()
        yield server.address(DATABASE), server.pid
    finally:
        server.stop()


def _settings() -> dict[str, str]:
    """The advice of PostgreSQL's manual for a dedicated machine: a quarter of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"fsync": "on", "shared_buffers": f"{memory // 4 // 2**20}MB", "max_wal_size": "8GB"}
