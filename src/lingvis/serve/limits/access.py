"""Access control: the token, or a session cookie in its place."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

SESSIONS = 1000  # beyond this number the oldest is dropped
MAX_AGE = 30 * 24 * 3600

_bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="The token, unless the server runs without one."
)


class Access:
    """The token and the sessions. Cookies ignore ports, so `collection` distinguishes servers on one host."""

    def __init__(self, token: str | None, collection: str) -> None:
        self._token = token.encode() if token is not None else None
        self._sessions: OrderedDict[bytes, None] = OrderedDict()
        self.cookie = "lingvis_" + hashlib.sha256(collection.encode(errors="replace")).hexdigest()[:8]

    def knows(self, token: str) -> bool:
        """Return whether a string is the token, in constant time."""
        return self._token is None or hmac.compare_digest(token.encode(errors="surrogatepass"), self._token)

    def allows(self, request: Request, token: str | None) -> bool:
        """Return whether a request may be answered."""
        if self._token is None or (token is not None and self.knows(token)):
            return True
        return _digest(request.cookies.get(self.cookie, "")) in self._sessions

    def start(self, request: Request, response: Response) -> None:
        """Set a cookie that replaces the token until the server ends."""
        session = secrets.token_urlsafe(32)
        self._sessions[_digest(session)] = None
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        response.set_cookie(
            self.cookie,
            session,
            max_age=MAX_AGE,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )

    def end(self, request: Request, response: Response) -> None:
        """End the session of the cookie."""
        self._sessions.pop(_digest(request.cookies.get(self.cookie, "")), None)
        response.delete_cookie(self.cookie, path="/", httponly=True, samesite="strict")


def allowed(
    request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Raise 401 for a request with neither token nor cookie."""
    access: Access = request.app.state.server.access
    if not access.allows(request, given.credentials if given is not None else None):
        raise HTTPException(
            401,
            "this server needs its token; send it as: Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _digest(session: str) -> bytes:
    """Return a hash for looking up the session, so that timing reveals nothing about the cookie."""
    return hashlib.sha256(session.encode(errors="replace")).digest()
