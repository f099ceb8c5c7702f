"""All that answers requests, in one place."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from lingvis.collection.collection import Collection
from lingvis.serve.engine import Engine
from lingvis.serve.limits.access import Access
from lingvis.serve.limits.places import Places
from lingvis.serve.limits.workers import Workers
from lingvis.serve.metrics import Metrics
from lingvis.serve.settings import Settings

READING, READS_WAITING = 4, 400  # a page asks for all its thumbnails at once
CONVERSIONS_WAITING = 16


class Server:
    """Searches, reads and conversions have threads of their own, so that none waits for the others.

    Conversions run one by one: each may need hundreds of megabytes.
    """

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(collection)
        self.access = Access(settings.token, collection.address)
        self.metrics = Metrics()
        seconds = settings.seconds
        self.searches = Workers(
            "search", threads=settings.searching, waiting=settings.waiting, seconds=seconds
        )
        self.uploads = Places(settings.uploading)
        self.reads = Workers("read", threads=READING, waiting=READS_WAITING, seconds=seconds)
        self.conversions = Workers("convert", threads=1, waiting=CONVERSIONS_WAITING, seconds=seconds)

    def close(self) -> None:
        """Take no more work."""
        for workers in (self.searches, self.reads, self.conversions):
            workers.close()


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Here = Annotated[Server, Depends(_server)]
