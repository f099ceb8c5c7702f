"""The configuration of uvicorn: limits of connections, and clients behind a proxy on this machine."""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI

from lingvis.serve.limits.clients import network_of
from lingvis.serve.limits.connections import Connections
from lingvis.serve.limits.pace import ConnectionPace
from lingvis.serve.limits.protocol import LimitedProtocol

KEEP_ALIVE, SHUTDOWN = 5, 5  # seconds
QUEUE = 1024  # clients that wait to be accepted
ACCEPTED = (
    8  # in one turn of the event loop; a flood of connections must neither hold up others nor take all files
)
EVENT_BYTES = 4096  # of a line or trailer within a body
PROXIES = "127.0.0.1,::1"
OPEN_FILES = 4096


class WebServer(uvicorn.Server):
    """Serves a FastAPI application with the limits of its settings."""

    def __init__(self, app: FastAPI) -> None:
        connections = Connections(app.state.server.settings.connections)
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", PROXIES)
        pace = ConnectionPace({network_of(address.strip()) for address in trusted.split(",")})
        protocol: Any = partial(LimitedProtocol, crowd=connections, pace=pace)
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            backlog=ACCEPTED,
            h11_max_incomplete_event_size=EVENT_BYTES,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=SHUTDOWN,
            forwarded_allow_ips=trusted,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(QUEUE)  # uvicorn has one number for both


def room_for_connections(most: int) -> int:
    """Raise the number of files that this process may open, and return how many of them may be connections."""
    try:
        import resource
    except ImportError:  # Windows
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    else:
        files = soft if soft != resource.RLIM_INFINITY else OPEN_FILES
    return min(most, files // 2)
