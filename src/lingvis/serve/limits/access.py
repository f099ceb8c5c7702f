"""Access control: the token, or a session cookie in its place."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from lingvis.serve.limits.clients import client_of
from lingvis.serve.limits.guesses import Guesses
from lingvis.serve.limits.refusals import Refusal
from lingvis.serve.operation.root_path import ROOT
from lingvis.serve.workers.state import SharedState

SESSIONS = 1000  # beyond this number the oldest is dropped
HELD = "lingvis.sessions"  # those of a request, in its scope
MAX_AGE = 30 * 24 * 3600
NEEDED = Refusal(
    401,
    "this server needs its token; send it as: Authorization: Bearer TOKEN",
    {"WWW-Authenticate": "Bearer"},
)

_bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="The token, unless the server runs without one."
)


class Access:
    """The token and the sessions. Cookies ignore ports, so `collection` distinguishes servers on one host."""

    def __init__(self, token: str | None, collection: str, state: SharedState) -> None:
        self._token = token.encode() if token is not None else None
        self._state = state
        self._guesses = Guesses(state)
        self.cookie = "lingvis_" + hashlib.sha256(collection.encode(errors="replace")).hexdigest()[:8]

    async def refuse(self, scope: Scope) -> Refusal | None:
        """Return a refusal of a request without the token and without a session."""
        if self._token is None or any(self._lives(session) for session in self._cookies(scope)):
            return None
        token = _token_of(scope)
        if token is None:
            return NEEDED
        return await self.refuse_token(token, scope)

    async def refuse_token(self, token: bytes, scope: Scope) -> Refusal | None:
        """Return a refusal of a wrong token, after a while if many were wrong."""
        client = client_of(scope)
        right = self._token is None or hmac.compare_digest(token, self._token)
        refusal = self._guesses.judge(client, right=right)
        if refusal is not None:
            await self._guesses.hold_back(client)
        return refusal

    def start(self, request: Request, response: Response) -> None:
        """Set a cookie that replaces the token for MAX_AGE seconds, until its end or that of the server."""
        self._drop(request)
        session = secrets.token_urlsafe(32)
        self._state.ask(
            "INSERT INTO sessions VALUES (?, ?)", _digest(session.encode()), time.time() + MAX_AGE
        )
        self._state.keep("sessions", SESSIONS)
        response.set_cookie(
            self.cookie,
            session,
            max_age=MAX_AGE,
            path=request.scope.get(ROOT, "/"),
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )

    def end(self, request: Request, response: Response) -> None:
        """End the session of the cookie, wherever the cookie was copied to."""
        self._drop(request)
        response.delete_cookie(
            self.cookie, path=request.scope.get(ROOT, "/"), httponly=True, samesite="strict"
        )

    def _drop(self, request: Request) -> None:
        for session in self._cookies(request.scope):
            self._state.ask("DELETE FROM sessions WHERE digest = ?", _digest(session))

    def _lives(self, session: bytes) -> bool:
        key = _digest(session)
        rows = self._state.ask("SELECT expiry FROM sessions WHERE digest = ?", key)
        if rows and time.time() > rows[0][0]:
            self._state.ask("DELETE FROM sessions WHERE digest = ?", key)
            return False
        return bool(rows)

    def hide_cookies(self, scope: Scope) -> None:
        """Drop the cookies of a request but for sessions: FastAPI parses them, which takes quadratic time."""
        scope[HELD] = list(self._cookies(scope))
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"cookie"]

    def _cookies(self, scope: Scope) -> Iterator[bytes]:
        """Yield the values of the session cookie. They need no unquoting."""
        if HELD in scope:
            yield from scope[HELD]
            return
        wanted = self.cookie.encode()
        for header, value in scope["headers"]:
            if header == b"cookie":
                for pair in value.split(b";"):
                    name, _, session = pair.strip().partition(b"=")
                    if name == wanted:
                        yield session


async def allowed(_: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> None:
    """State in the OpenAPI document that a route needs the token; the gate checks it."""


def _token_of(scope: Scope) -> bytes | None:
    """Return the token of the Authorization header."""
    for header, value in scope["headers"]:
        if header == b"authorization":
            scheme, _, token = value.partition(b" ")
            return token.strip() if scheme.lower() == b"bearer" else None
    return None


def _digest(session: bytes) -> bytes:
    """Return a hash for looking up the session, so that timing reveals nothing about the cookie."""
    return hashlib.sha256(session).digest()
