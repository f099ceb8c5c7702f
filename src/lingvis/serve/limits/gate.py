"""Reject requests before they reach a route."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from lingvis.serve.limits.access import Access
from lingvis.serve.limits.clients import ClientSlots, client_of
from lingvis.serve.limits.heads import refuse_address, refuse_headers
from lingvis.serve.limits.refusals import Refusal
from lingvis.serve.limits.sites import refuse_other_sites
from lingvis.serve.limits.slots import BUSY

# Addresses that contain nothing of the collection; links of other sites may open the page.
WITHOUT_TOKEN = frozenset({"/", "/service-worker.js", "/openapi.json", "/api/health", "/api/session"})
FILES = "/static/"
PARTS = frozenset({b"range", b"if-range"})  # parsing them may be slow, and only videos are sent in parts
VIDEO = "/video"
OTHER_NAME = Refusal(
    403, "this server answers only at its own address; use the address that it printed at its start"
)
NOT_UTF8 = Refusal(400, "the address is not valid UTF-8; encode its characters as UTF-8 before escaping them")


class Gate:
    """Rejects requests that are too large, for other host names, from pages of other sites or without the token,
    addresses that are not UTF-8, and more concurrent requests than slots.

    hosts: the allowed names. Another site may point its name to 127.0.0.1 (DNS rebinding) to pass for this server; the
    Host header still has its name.
    """

    def __init__(self, app: ASGIApp, access: Access, hosts: frozenset[str] | None, requests: int) -> None:
        self._app, self._access, self._hosts = app, access, hosts
        self._slots = ClientSlots(requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        refusal = self._refuse(scope, path)
        if refusal is None and path not in WITHOUT_TOKEN and not path.startswith(FILES):
            refusal = await self._access.refuse(scope)
        if refusal is None and not _is_utf8(scope):
            refusal = NOT_UTF8
        client = client_of(scope)
        if refusal is None and not self._slots.take(client):
            refusal = BUSY
        if refusal is not None:
            await refusal.response()(scope, receive, send)
            return
        self._access.hide_cookies(scope)
        if not path.endswith(VIDEO):
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name not in PARTS]
        try:
            await self._app(scope, receive, send)
        finally:
            self._slots.release(client)

    def _refuse(self, scope: Scope, path: str) -> Refusal | None:
        refusal = refuse_headers(scope["headers"]) or refuse_address(
            scope.get("raw_path", b""), scope["query_string"]
        )
        if refusal is not None:
            return refusal
        headers = Headers(scope=scope)
        if self._hosts is not None and _name(headers.get("host", "")) not in self._hosts:
            return OTHER_NAME
        page = scope["method"] in ("GET", "HEAD") and (path == "/" or path.startswith(FILES))
        return None if page else refuse_other_sites(headers)


def _is_utf8(scope: Scope) -> bool:
    try:
        unquote_to_bytes(scope.get("raw_path", b"") + b"?" + scope["query_string"]).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _name(host: str) -> str:
    """Return the Host header without its port."""
    name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return name.lower()
