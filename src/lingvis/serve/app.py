"""The application: its routes, and the middleware before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from lingvis import __version__
from lingvis.collection.collection import Collection
from lingvis.serve.errors import ErrorMiddleware, add_error_handlers
from lingvis.serve.limits.gate import Gate
from lingvis.serve.limits.headers import SecurityHeaders
from lingvis.serve.metrics import MetricsMiddleware
from lingvis.serve.routes import about, items, search
from lingvis.serve.routes.page import add_page
from lingvis.serve.server import Server
from lingvis.serve.settings import ServerSettings

DESCRIPTION = (
    "Search a picture collection by words in any language of its model, or by a picture. Every error is "
    '`{"error": "one sentence"}`.'
)
DEFAULTS = ServerSettings()


def create_app(collection: Collection, settings: ServerSettings = DEFAULTS) -> FastAPI:
    """Make the web application of a collection.

    Its model is loaded by the first query, or by `app.state.server.engine.warm()`.
    """
    server = Server(collection, settings)

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
    )
    app.state.server = server
    for part in (search, items, about):
        app.include_router(part.router)
    add_page(app)
    add_error_handlers(app)
    # Requests pass the middleware that was added last first.
    app.add_middleware(Gate, access=server.access, hosts=settings.hosts, requests=settings.requests)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=server.metrics)
    app.add_middleware(SecurityHeaders)
    return app
