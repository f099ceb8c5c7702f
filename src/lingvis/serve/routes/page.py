"""The search page and its files, from the package; as an app, it also opens without the server."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from importlib.resources import as_file, files
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

ASK_FIRST = "no-cache"
WORKER = "service-worker.js"


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
    mimetypes.add_type("application/manifest+json", ".webmanifest")
    with as_file(files("lingvis.serve") / "page") as folder:
        home = Path(folder)
    worker = _service_worker(home)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> Response:
        return FileResponse(home / "index.html", headers={"Cache-Control": ASK_FIRST})

    @app.api_route(f"/{WORKER}", methods=["GET", "HEAD"], include_in_schema=False)
    async def service_worker() -> Response:
        return Response(worker, media_type="text/javascript", headers={"Cache-Control": ASK_FIRST})

    app.mount("/static", _PageFiles(directory=home))


def _service_worker(home: Path) -> str:
    """Return the script that keeps the page's files in the browser: their names, and a version that they determine.

    It is served beside the page, because a script may keep only what is below its own address.
    """
    kept = sorted(path for path in home.rglob("*") if path.is_file() and path.name != WORKER)
    digest = hashlib.sha256()
    for path in kept:
        digest.update(path.read_bytes())
    names = [
        "./",
        *(f"static/{path.relative_to(home).as_posix()}" for path in kept if path.name != "index.html"),
    ]
    head = f"const VERSION = {json.dumps(digest.hexdigest()[:16])};\nconst FILES = {json.dumps(names)};\n"
    return head + (home / WORKER).read_text(encoding="utf-8")
