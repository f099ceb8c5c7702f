"""A server below a path of a real reverse proxy, which removes the path or keeps it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..conftest import Client, serving

PROXY = Path(__file__).parent / "proxy.py"
PAGE = Path(__file__).parents[3] / "src" / "lingvis" / "serve" / "page"
TOKEN = "correct-horse-battery-staple"


@contextmanager
def behind_proxy(backend: int, prefix: str, how: str) -> Iterator[Client]:
    command = [sys.executable, str(PROXY), str(backend), prefix, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Client(int(process.stdout.readline()), {})
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def backend(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    log = tmp_path_factory.mktemp("log") / "log"
    arguments = [str(home / "photos.lv"), "--root-path", "/my/photos/"]
    with serving(*arguments, env={"LINGVIS_TOKEN": TOKEN}, log=log) as (port, _):
        yield port


@pytest.mark.parametrize("how", ["keep", "strip"])
def test_page_files_session_and_searches_work_below_the_path(backend: int, how: str) -> None:
    with behind_proxy(backend, "/my/photos", how) as client:
        page = client.get("/my/photos/")
        addresses = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
        assert page.status == 200 and "static/app.js" in addresses
        for address in addresses:
            assert client.get(f"/my/photos/{address.removeprefix('./')}").status == 200, address
        assert client.get("/my/photos/api/collection").status == 401
        session = client.ask("POST", "/my/photos/api/session", f'{{"token": "{TOKEN}"}}')
        cookie = session.headers["set-cookie"]
        assert session.status == 204 and "Path=/my/photos;" in cookie
        own = {"Cookie": cookie.partition(";")[0]}
        hits = client.get("/my/photos/api/search", own, q="the house").json["hits"]
        assert len(hits) > 3
        thumbnail = client.get(f"/my/photos/api/items/{hits[0]['id']}/thumbnail", own)
        assert thumbnail.body.startswith(b"\xff\xd8")
        assert client.get("/my/photos/openapi.json").json["servers"] == [{"url": "/my/photos"}]
        ended = client.ask("DELETE", "/my/photos/api/session", headers=own)
        assert "Path=/my/photos;" in ended.headers["set-cookie"]
        assert client.get("/my/photos/api/collection", own).status == 401
        metrics = client.get("/my/photos/metrics", {"Authorization": f"Bearer {TOKEN}"}).body.decode()
        assert 'route="/static"' in metrics and 'route="/api/search"' in metrics


def test_the_path_without_its_slash_leads_to_the_page(backend: int) -> None:
    with behind_proxy(backend, "/my/photos", "keep") as client:
        answer = client.ask("GET", "/my/photos")
        assert (answer.status, answer.headers["location"]) == (308, "photos/")
        assert "content-security-policy" in answer.headers
        key = {"Authorization": f"Bearer {TOKEN}"}
        assert client.ask("GET", "/my/photosandmore", headers=key).status == 404


def test_no_header_changes_the_path(backend: int) -> None:
    forged = {"X-Forwarded-Prefix": "/evil", "Authorization": f"Bearer {TOKEN}"}
    client = Client(backend, forged)
    assert client.get("/openapi.json").json["servers"] == [{"url": "/my/photos"}]
    assert client.get("/evil/api/collection").status == 404


def test_all_addresses_in_the_page_are_relative() -> None:
    absolute = re.compile(r"""["'`(=]/(?:api|static)\b""")
    files = [file for file in PAGE.rglob("*") if file.suffix in (".js", ".html", ".css", ".webmanifest")]
    assert len(files) > 20
    wrong = [f"{file.name}: {found[0]}" for file in files if (found := absolute.search(file.read_text()))]
    assert not wrong, "below a path of a proxy these lead elsewhere; write api/... and static/..."
