"""Reject requests before they reach a route."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lingvis.serve.limits.slots import BUSY, LATER, Slots

READING = {"GET", "HEAD", "OPTIONS"}
CROWDED = "crowded"  # the protocol marks a connection beyond its limit with this


class Gate:
    """Rejects other host names, requests from pages of other sites, addresses that are not UTF-8, and more concurrent
    requests than slots.

    hosts: the allowed names. Another site may point its name to 127.0.0.1 (DNS rebinding) to pass for this server; the
    Host header still has its name.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None, requests: int) -> None:
        self._app, self._hosts = app, hosts
        self._slots = Slots(requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope.get("state", {}).get(CROWDED):
            headers = {**LATER, "Connection": "close"}
            await JSONResponse({"error": BUSY}, 429, headers=headers)(scope, receive, send)
        elif (refusal := self._refusal(scope)) is not None:
            status, sentence = refusal
            await JSONResponse({"error": sentence}, status)(scope, receive, send)
        elif self._slots.take():
            try:
                await self._app(scope, receive, send)
            finally:
                self._slots.release()
        else:
            await JSONResponse({"error": BUSY}, 429, headers=LATER)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            return (
                403,
                "this server answers only at its own address; use the address that it printed at its start",
            )
        if scope["method"] not in READING and not _own_page(headers):
            return (
                403,
                "this request comes from a page of another site; only this server's page may send requests",
            )
        try:
            address = scope.get("raw_path", b"") + b"?" + scope["query_string"]
            unquote_to_bytes(address).decode("utf-8")
        except UnicodeDecodeError:
            return 400, "the address is not valid UTF-8; encode its characters as UTF-8 before escaping them"
        return None


def _own_page(headers: Headers) -> bool:
    """Return whether no browser header reveals a page of another site."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # only the browser sets it, and it is also right behind a proxy
        return site in ("same-origin", "none")
    # A page can set the forwarded host only with permission of this server (CORS), which never grants it.
    own = {headers.get("host", "").lower(), headers.get("x-forwarded-host", "").lower()}
    return origin is None or urlsplit(origin).netloc.lower() in own - {""}


def _name(host: str) -> str:
    """Return the Host header without its port."""
    name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return name.lower()
