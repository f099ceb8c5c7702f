"""The shared state of all requests."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from lingvis.collection.collection import Collection
from lingvis.features.decoding.pool import DecoderPool
from lingvis.serve.downloads.tickets import Tickets
from lingvis.serve.engine import SearchEngine
from lingvis.serve.limits.access import Access
from lingvis.serve.limits.clients import ClientSlots
from lingvis.serve.limits.turns import ClientTurns
from lingvis.serve.limits.workers import WorkerThreads
from lingvis.serve.metrics import Metrics
from lingvis.serve.pictures.files import PictureFiles
from lingvis.serve.settings import ServerSettings
from lingvis.serve.several.paths import COLLECTION
from lingvis.serve.workers.state import SharedState

READING, READS_WAITING = 4, 400  # a page requests all its thumbnails at once
CONVERSIONS_WAITING = 16
SESSIONS_STARTING = 16  # tokens that are being received
BODIES = 32  # names of pictures that are being received
DOWNLOADS = 8  # archives that are being sent
WRITES_WAITING = 64
DECODING, DECODING_SECONDS = 2, 10.0  # uploaded pictures at once, and for one of them


class Server:
    """Searches, reads, conversions and the decoding of uploads have separate threads, so that none waits for the others.

    Conversions run one by one: each may need hundreds of megabytes. Pictures are decoded by processes with limits.
    engine: of the first collection; collections: all by name, with the same threads and limits.
    """

    def __init__(self, collections: Mapping[str, Collection], settings: ServerSettings) -> None:
        first, *_ = collections.values()
        self.settings = settings
        self.engine = SearchEngine(first)
        self.files = PictureFiles()
        self.state = SharedState(settings.shared)
        self.tickets = Tickets(self.state)
        self.access = Access(settings.token, first.address, self.state)
        self.metrics = Metrics(settings.shared)
        seconds = settings.seconds
        self.searches = WorkerThreads(
            "search",
            threads=settings.searching,
            waiting=settings.waiting,
            seconds=seconds,
            observe=self.metrics.search.observe,
        )
        self.uploads = ClientSlots(settings.uploading)
        self.sessions = ClientSlots(SESSIONS_STARTING)
        self.bodies = ClientSlots(BODIES)
        self.downloads = ClientSlots(DOWNLOADS)
        self.writes = WorkerThreads("write", threads=1, waiting=WRITES_WAITING, seconds=seconds)
        self.decoding_turns = ClientTurns(DECODING, seconds=seconds)
        self.decoding = WorkerThreads("decode", threads=DECODING, waiting=settings.uploading, seconds=seconds)
        self.decoders = DecoderPool(seconds=DECODING_SECONDS, file_bytes=settings.upload_bytes)
        self.reads = WorkerThreads("read", threads=READING, waiting=READS_WAITING, seconds=seconds)
        self.conversions = WorkerThreads("convert", threads=1, waiting=CONVERSIONS_WAITING, seconds=seconds)
        self.converters = DecoderPool()
        self.collections: dict[str, Server] = {}  # shared by all of them
        for name, collection in collections.items():
            self.collections[name] = self if collection is first else self._beside(collection)

    def warm(self) -> None:
        """Load everything that the first query of each collection would wait for."""
        for server in self.collections.values():
            server.engine.warm()

    def _beside(self, collection: Collection) -> Server:
        """Return this server with another collection; everything else is shared."""
        other = copy.copy(self)
        other.engine = SearchEngine(collection)
        return other

    def close(self) -> None:
        """Accept no more work."""
        for workers in (self.searches, self.reads, self.writes, self.conversions, self.decoding):
            workers.close()
        self.decoders.close()
        self.converters.close()
        self.state.close()


def server_of(request: Request) -> Server:
    """Return the server of the collection that a request names."""
    server: Server = request.app.state.server
    name = request.scope.get(COLLECTION)
    return server if name is None else server.collections[name]


async def _server(request: Request) -> Server:  # FastAPI would run a plain function in another thread
    return server_of(request)


ServerOfRequest = Annotated[Server, Depends(_server)]
