"""The collection that a path names."""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lingvis.serve.limits.refusals import Refusal
from lingvis.serve.several.names import PREFIX

COLLECTION = "lingvis.collection"  # the key of a request's collection in its scope
UNKNOWN = Refusal(404, "this server has no collection of this name; /api/collections lists them")


class CollectionPaths:
    """Turns /c/NAME/api/search into /api/search of the collection NAME."""

    def __init__(self, app: ASGIApp, names: Container[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            name, slash, rest = scope["path"].removeprefix(PREFIX).partition("/")
            if name not in self._names:
                await UNKNOWN.response()(scope, receive, send)
                return
            if not slash:
                await Response(status_code=307, headers={"Location": f"{quote(name, safe='')}/"})(
                    scope, receive, send
                )
                return
            scope = {**scope, "path": f"/{rest}", COLLECTION: name}
        await self._app(scope, receive, send)
