"""The application: routes and what every request passes on its way to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from lingvis import __version__
from lingvis.collection.collection import Collection
from lingvis.serve.errors import Caught, tell_errors
from lingvis.serve.limits.gate import Gate
from lingvis.serve.limits.headers import SecurityHeaders
from lingvis.serve.metrics import Measured
from lingvis.serve.routes import about, items, search
from lingvis.serve.routes.page import add_page
from lingvis.serve.server import Server
from lingvis.serve.settings import Settings

DESCRIPTION = (
    "Search a picture collection by words in any language of its model, or by a picture. Every error is "
    '`{"error": "one sentence"}`.'
)
DEFAULTS = Settings()


def create_app(collection: Collection, settings: Settings = DEFAULTS) -> FastAPI:
    """A collection as a web application; its model is loaded by the first question, or by `state.server.engine.warm()`."""
    server = Server(collection, settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        server.close()

    # No documentation pages: they would fetch their scripts from elsewhere.
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
    tell_errors(app)
    # The last one is the first that a request meets.
    app.add_middleware(Gate, hosts=settings.hosts, requests=settings.requests)
    app.add_middleware(Caught)
    app.add_middleware(Measured, metrics=server.metrics)
    app.add_middleware(SecurityHeaders)
    return app
