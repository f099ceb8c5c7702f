"""A real PostgreSQL with pgvector in a temporary folder, for tests."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from studies.postgres_server import PostgresServer

# A kill of processes leaves what the system has taken over; only a power cut would not.
SETTINGS = {"fsync": "off", "shared_buffers": "32MB", "max_connections": "40"}


class Server(PostgresServer):
    """One that may be killed, and leaves nothing."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="pg-")), SETTINGS)

    def kill(self) -> None:
        """As a power cut would: the postmaster and all its children at once."""
        parent = psutil.Process(self.pid)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        assert self._process is not None
        self._process.wait()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """All processes stand still, as on a machine that has hung up."""
        parent = psutil.Process(self.pid)
        processes = [parent, *parent.children(recursive=True)]
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    def stop(self) -> None:
        """End the server, without a care for its data, and drop its folder."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
