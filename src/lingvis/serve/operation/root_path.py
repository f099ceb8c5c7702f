"""A server below a path of a proxy, such as https://example.org/photos/."""

from __future__ import annotations

import re

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lingvis.errors import UserError

ROOT = "lingvis.root_path"  # the key of the root path in the scope of a request
ALLOWED = re.compile(r"(/[A-Za-z0-9._~-]+)+")
TAKEN = ("/api", "/static")  # without its root path, such an address is one of the server's


def check_root_path(path: str) -> str:
    """Return a root path without a slash at its end; raises UserError if it is not allowed."""
    path = path.rstrip("/")
    if path and (not ALLOWED.fullmatch(path) or {".", ".."} & set(path.split("/"))):
        raise UserError(
            f"root_path must be a path such as /photos, of letters, digits and ._~-, got {path!r}; leave it out for none"
        )
    if f"{path}/".startswith(tuple(f"{name}/" for name in TAKEN)):
        raise UserError(
            f"root_path must not begin with {' or '.join(TAKEN)}, got {path!r}; choose another path"
        )
    return path


class RootPath:
    """Accepts requests with the root path, which is removed, and, from proxies that remove it, without it.

    No header may name another root path (X-Forwarded-Prefix is ignored): clients could set it, and the addresses in the
    page are relative, so nothing needs it.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app, self._root = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._root:  # relative addresses need the slash at the end
                headers = {"Location": f"{path.rpartition('/')[2]}/"}
                await Response(status_code=308, headers=headers)(scope, receive, send)
                return
            inner = path.removeprefix(self._root) if path.startswith(f"{self._root}/") else path
            scope = {**scope, "path": inner, ROOT: self._root}
        await self._app(scope, receive, send)
