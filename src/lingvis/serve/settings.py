"""The limits of a server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from lingvis.hardware import core_count

QUERY_CHARACTERS = 1000
QUERIES = 16
RESULTS = 200
OFFSET = 10_000
SELECTED = 2000  # pictures that one request adds to an album or downloads
DOWNLOAD_BYTES = 8_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """token: None for access without a token; hosts: names allowed in the Host header, None: any; writable: whether albums
    may be changed.

    upload_bytes, pixels: of a picture in a query; seconds: for an answer; upload_seconds: for sending a picture;
    searching: concurrent searches; waiting: queued searches; uploading: concurrent queries with a picture;
    requests: concurrent requests of any kind; connections: open ones. Further requests get 429, and one client may use
    a quarter of the uploads, requests and connections. root_path: of the page behind a proxy; access_log: log every
    request, with its query only if `log_queries`. workers: processes of the server, and shared: their common folder,
    None for one process.
    """

    token: str | None = None
    hosts: frozenset[str] | None = None
    writable: bool = True
    upload_bytes: int = 20_000_000
    pixels: int = 64_000_000
    seconds: float = 30.0
    upload_seconds: float = 60.0
    searching: int = max(2, core_count() // 2)
    waiting: int = 8 * max(2, core_count() // 2)
    uploading: int = 16
    requests: int = 512
    connections: int = 1024
    root_path: str = ""
    access_log: bool = False
    log_queries: bool = False
    workers: int = 1
    shared: Path | None = None

    def of_worker(self, workers: int) -> Self:
        """Return the settings of one of several processes, each of which gets its part of what may go on at once."""
        return replace(
            self,
            workers=workers,
            searching=-(-self.searching // workers),
            waiting=-(-self.waiting // workers),
            uploading=-(-self.uploading // workers),
            requests=-(-self.requests // workers),
            connections=-(-self.connections // workers),
        )
