"""Numbers of a running server, for Prometheus."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The metrics of one server, with a separate registry, so that several servers in one process do not mix.

    shared: the folder of files in which several processes count; the library finds it by its environment variable.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._registry, self._shared = CollectorRegistry(), shared
        if shared is None:
            ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "lingvis_requests", "Answers by route and status.", ["route", "status"], registry=self._registry
        )
        self.latency = Histogram(
            "lingvis_request_seconds",
            "Time from a request to the end of its answer.",
            ["route"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self.search = Histogram(
            "lingvis_search_seconds",
            "Time of a search without waiting for its turn.",
            buckets=SECONDS,
            registry=self._registry,
        )
        self.refused = Counter(
            "lingvis_busy",
            "Requests rejected with 429 because too many were waiting.",
            registry=self._registry,
        )
        self.pictures = Gauge(
            "lingvis_pictures",
            "Pictures in all collections.",
            registry=self._registry,
            multiprocess_mode="mostrecent",
        )

    def text(self) -> bytes:
        """Return all numbers, of all processes together, in the text format of Prometheus."""
        if self._shared is None:
            return generate_latest(self._registry)
        everyone = CollectorRegistry()
        MultiProcessCollector(everyone, path=str(self._shared))  # type: ignore[no-untyped-call]
        return generate_latest(everyone)


class MetricsMiddleware:
    """Counts and times every answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def watching(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watching)
        finally:
            route = _route(scope)
            self._metrics.requests.labels(route, str(status)).inc()
            self._metrics.latency.labels(route).observe(time.perf_counter() - start)
            if status == 429:
                self._metrics.refused.inc()


def _route(scope: Scope) -> str:
    """Return the pattern of the route: ids and unknown addresses must not become labels."""
    path: str = getattr(scope.get("route"), "path", "")
    if path:
        return path
    return "/static" if scope["path"].startswith("/static/") else "other"
