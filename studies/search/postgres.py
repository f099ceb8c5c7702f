"""The PostgreSQL server of a measurement: durable, and with the memory that a server of its own would have."""

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
    """The address and the process of a server that ends with the block; its data stay in `folder`.

    The two folders above are the measurement's own: root lets the user that the server runs as pass through them.
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
    """What PostgreSQL's manual advises for a server with a machine of its own: a quarter of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"fsync": "on", "shared_buffers": f"{memory // 4 // 2**20}MB", "max_wal_size": "8GB"}
