"""The application: its routes, and the middleware before them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from fastapi import FastAPI
from PIL import Image

from lingvis import __version__
from lingvis.collection.collection import Collection
from lingvis.hardware import core_count
from lingvis.serve.errors import ErrorMiddleware, add_error_handlers
from lingvis.serve.limits.gate import Gate
from lingvis.serve.limits.headers import SecurityHeaders
from lingvis.serve.listening import room_for_connections
from lingvis.serve.metrics import MetricsMiddleware
from lingvis.serve.operation.access_log import AccessLog
from lingvis.serve.operation.root_path import RootPath
from lingvis.serve.routes import about, albums, browse, collections, downloads, items, search, videos
from lingvis.serve.routes.page import add_page
from lingvis.serve.server import Server
from lingvis.serve.settings import ServerSettings
from lingvis.serve.several.names import named
from lingvis.serve.several.paths import CollectionPaths

DESCRIPTION = (
    "Search a picture collection by words in any language of its model, or by a picture. Every error is "
    '`{"error": "one sentence"}`.'
)
DEFAULTS = ServerSettings()


def create_app(collection: Collection | Sequence[Collection], settings: ServerSettings = DEFAULTS) -> FastAPI:
    """Make the web application of a collection, or of several.

    Its model is loaded by the first query, or by `app.state.server.warm()`.
    """
    server = Server(named(collection), settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        server.close()

    # No documentation pages: they would load their scripts from another host.
    app = FastAPI(
        title="lingvis",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.server = server
    # Each by itself, not as a router: FastAPI would look for the route of a request twice.
    for part in (search, items, browse, videos, albums, downloads, collections, about):
        app.router.routes.extend(part.router.routes)
    add_page(app)
    add_error_handlers(app)
    # Requests pass the middleware that was added last first.
    app.add_middleware(Gate, access=server.access, hosts=settings.hosts, requests=settings.requests)
    app.add_middleware(CollectionPaths, names=server.collections)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=server.metrics)
    if settings.root_path:
        app.add_middleware(RootPath, root_path=settings.root_path)
    if settings.access_log:
        app.add_middleware(AccessLog, queries=settings.log_queries)
    app.add_middleware(SecurityHeaders)
    return app


def ready_app(collections: Sequence[Collection], settings: ServerSettings) -> FastAPI:
    """Make the application of a process that only serves, with everything loaded that its first requests would wait for."""
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # pixels are counted before decoding
    settings = replace(settings, connections=room_for_connections(settings.connections))
    app = create_app(collections, settings)
    app.state.server.warm()
    if torch := sys.modules.get("torch"):  # loaded by a model without graphs
        torch.set_num_threads(max(1, core_count() // (settings.workers * settings.searching)))
    return app
