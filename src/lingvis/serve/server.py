"""The shared state of all requests."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from lingvis.collection.collection import Collection
from lingvis.features.decoding.pool import DecoderPool
from lingvis.serve.engine import SearchEngine
from lingvis.serve.files import PictureFiles
from lingvis.serve.limits.access import Access
from lingvis.serve.limits.clients import ClientSlots
from lingvis.serve.limits.turns import ClientTurns
from lingvis.serve.limits.workers import WorkerThreads
from lingvis.serve.metrics import Metrics
from lingvis.serve.settings import ServerSettings

READING, READS_WAITING = 4, 400  # a page requests all its thumbnails at once
CONVERSIONS_WAITING = 16
SESSIONS_STARTING = 16  # tokens that are being received
DECODING, DECODING_SECONDS = 2, 10.0  # uploaded pictures at once, and for one of them


class Server:
    """Searches, reads, conversions and the decoding of uploads have separate threads, so that none waits for the others.

    Conversions run one by one: each may need hundreds of megabytes. Pictures are decoded by processes with limits.
    """

    def __init__(self, collection: Collection, settings: ServerSettings) -> None:
        self.settings = settings
        self.engine = SearchEngine(collection)
        self.files = PictureFiles()
        self.access = Access(settings.token, collection.address)
        self.metrics = Metrics()
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
        self.decoding_turns = ClientTurns(DECODING, seconds=seconds)
        self.decoding = WorkerThreads("decode", threads=DECODING, waiting=settings.uploading, seconds=seconds)
        self.decoders = DecoderPool(seconds=DECODING_SECONDS, file_bytes=settings.upload_bytes)
        self.reads = WorkerThreads("read", threads=READING, waiting=READS_WAITING, seconds=seconds)
        self.conversions = WorkerThreads("convert", threads=1, waiting=CONVERSIONS_WAITING, seconds=seconds)
        self.converters = DecoderPool()

    def close(self) -> None:
        """Accept no more work."""
        for workers in (self.searches, self.reads, self.conversions, self.decoding):
            workers.close()
        self.decoders.close()
        self.converters.close()


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


ServerOfRequest = Annotated[Server, Depends(_server)]
