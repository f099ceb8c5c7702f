"""The search page and its files, from the package."""

from __future__ import annotations

import mimetypes
from importlib.resources import as_file, files
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ASK_FIRST = "no-cache"


class _PageFiles(StaticFiles):
    """Files that browsers cache but revalidate before use."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = ASK_FIRST
        return response


def add_page(app: FastAPI) -> None:
    """Serve index.html at /, the other files below /static."""
    mimetypes.add_type(
        "text/javascript", ".js"
    )  # some systems label scripts as plain text, which browsers do not run
    with as_file(files("lingvis.serve") / "page") as folder:
        home = Path(folder)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return FileResponse(home / "index.html", headers={"Cache-Control": ASK_FIRST})

    app.mount("/static", _PageFiles(directory=home))
