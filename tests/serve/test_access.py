"""Who may ask a server, and how it starts and ends."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from lingvis.cli import main
from lingvis.serve.limits.access import MAX_AGE, SESSIONS, Access
from lingvis.serve.workers.state import SharedState

from .conftest import Client, finished, serving

TOKEN = "correct-horse-battery"
NUMBERS = itertools.count(1)
CLOSED = ["/api/collection", "/api/search?q=x", "/api/items/x", "/api/items/x/thumbnail", "/metrics"]
CLOSED += [
    "/api/items/x/picture",
    "/api/items/x/similar",
    "/api/albums",
    "/api/items/x/albums",
    "/api/downloads/x",
]
CLOSED += ["/api/browse", "/api/timeline", "/api/folders", "/api/places", "/api/examples"]


@pytest.fixture(scope="module")
def guarded(home: Path) -> Iterator[Client]:
    """A server that others can reach, with its token in a file."""
    (home / "token").write_text(TOKEN + "\n")
    (home / "token").chmod(0o600)
    arguments = [str(home / "photos.lv"), "--host", "0.0.0.0", "--token-file", str(home / "token")]
    with serving(*arguments, log=home / "closed.log") as (port, _):
        yield Client(port, {})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def elsewhere() -> dict[str, str]:
    """A client that sent nothing before, as a proxy on this machine reports it."""
    return {"X-Forwarded-For": f"198.51.100.{next(NUMBERS)}"}


@pytest.mark.parametrize("path", CLOSED)
def test_nothing_is_told_without_the_token(guarded: Client, path: str) -> None:
    wrong: list[dict[str, str]] = [{}, *map(bearer, ("wrong", "", TOKEN[:-1], TOKEN + "x"))]
    wrong += [{"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"}]
    for headers in (*wrong, {"Cookie": f"{_cookie_name(guarded)}={TOKEN}"}):
        answer = guarded.ask("GET", path, headers={**headers, **elsewhere()})
        assert answer.status == 401 and "token" in answer.error, headers
        assert TOKEN not in answer.error and answer.headers["www-authenticate"] == "Bearer"
    assert guarded.ask("GET", path, headers=bearer(TOKEN)).status in (200, 404)


def test_an_upload_without_the_token_is_not_read(guarded: Client) -> None:
    headers = {"Content-Length": "10000000", "Content-Type": "multipart/form-data; boundary=x"}
    assert guarded.ask("POST", "/api/search", headers=headers).status == 401


def test_the_token_allows_changes_of_albums(guarded: Client) -> None:
    body, kind = '{"album": "favourites"}', {"Content-Type": "application/json"}
    assert guarded.ask("POST", "/api/albums", body, {**kind, **elsewhere()}).status == 401
    assert guarded.ask("POST", "/api/albums", body, {**kind, **bearer(TOKEN)}).status == 200


def test_page_health_and_document_are_open(guarded: Client) -> None:
    for path in ("/", "/static/app.js", "/api/health", "/openapi.json"):
        assert guarded.ask("GET", path).status == 200


def test_session_cookie(guarded: Client) -> None:
    answer = guarded.ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}')
    cookie = answer.headers["set-cookie"]
    assert answer.status == 204 and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert TOKEN not in cookie and "Secure" not in cookie
    held = {"Cookie": cookie.partition(";")[0]}
    assert guarded.ask("GET", "/api/collection", headers=held).status == 200
    assert guarded.ask("GET", "/api/collection", headers={"Cookie": held["Cookie"][:-1]}).status == 401
    assert guarded.ask("DELETE", "/api/session", headers=held).status == 204
    assert guarded.ask("GET", "/api/collection", headers=held).status == 401, "the server must forget it, too"
    behind = guarded.ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}', {"X-Forwarded-Proto": "https"})
    assert "Secure" in behind.headers["set-cookie"]


@pytest.mark.parametrize("token", ["wrong", "", "\\ud800", "\\u0000", "t\\u00f6ken", TOKEN + "x"])
def test_wrong_tokens_open_no_session(guarded: Client, token: str) -> None:
    answer = guarded.ask("POST", "/api/session", f'{{"token": "{token}"}}', elsewhere())
    assert answer.status == 401 and "set-cookie" not in answer.headers and answer.error


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"token": 1}', b'{"x": "y"}', b"\xff", b"[" * 4000, b"null"]
)
def test_what_is_no_token_is_refused(guarded: Client, body: bytes) -> None:
    assert guarded.ask("POST", "/api/session", body).status == 422


def test_a_huge_token_is_not_read(guarded: Client) -> None:
    assert guarded.ask("POST", "/api/session", b'{"token": "' + b"x" * 100_000 + b'"}').status == 413


class Browser:
    """Starts and ends sessions of an `Access`, and holds the cookies."""

    def __init__(self) -> None:
        self.access = Access(TOKEN, "photos.lv", SharedState())

    def start(self, cookie: str = "") -> str:
        response = Response()
        self.access.start(self._request(cookie), response)
        return response.headers["set-cookie"].partition(";")[0]

    def end(self, cookie: str) -> None:
        self.access.end(self._request(cookie), Response())

    def opens(self, cookie: str) -> bool:
        return finished(self.access.refuse(self._request(cookie).scope)) is None

    def _request(self, cookie: str) -> Request:
        headers = [(b"cookie", cookie.encode())]
        return Request(
            {"type": "http", "headers": headers, "scheme": "http", "server": ("x", 1), "path": "/"}
        )


def test_sessions_are_bounded() -> None:
    browser = Browser()
    cookies = [browser.start() for _ in range(SESSIONS + 1)]
    assert not browser.opens(cookies[0]) and browser.opens(cookies[1]) and browser.opens(cookies[-1])


def test_sessions_end_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser()
    copied = browser.start()
    assert browser.opens(f"other=1; {copied}; x=y") and not browser.opens(copied + "x")
    assert browser.opens(f'{browser.access.cookie}="shadow"; {copied}'), (
        "another page's cookie must not hide it"
    )
    browser.end(copied)
    assert not browser.opens(copied)
    first = browser.start()
    second = browser.start(first)
    assert browser.opens(second) and not browser.opens(first), "a new session replaces the one before"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + MAX_AGE - 10)
    assert browser.opens(second)
    monkeypatch.setattr(time, "time", lambda: now + MAX_AGE + 10)
    assert not browser.opens(second)
    monkeypatch.setattr(time, "time", lambda: now)
    assert not browser.opens(second), "it was removed"


def test_only_its_own_names(client: Client) -> None:
    port = client.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "LOCALHOST"):
        assert client.get("/api/health", {"Host": host}).status == 200, host
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
    ):
        answer = client.get("/api/collection", {"Host": host})
        assert answer.status == 403 and "address" in answer.error, host


OTHER_SITES = [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "new"}]
OTHER_SITES += [
    {"Origin": origin} for origin in ("https://evil.example", "null", "http://[", "http://]/", "\xff", "")
]


@pytest.mark.parametrize("headers", OTHER_SITES, ids=str)
def test_pages_of_other_sites(client: Client, guarded: Client, headers: dict[str, str]) -> None:
    own = f"http://127.0.0.1:{client.port}"
    assert client.upload(b"x", None, **headers).status == 403
    assert guarded.ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}', headers).status == 403
    for method in ("GET", "HEAD", "OPTIONS", "PUT"):
        for path in (
            "/api/search?q=x",
            "/api/health",
            "/api/items/x/picture",
            "/metrics",
            "/openapi.json",
            "/api",
        ):
            answer = client.ask(method, path, headers=headers)
            assert answer.status == 403 and (method == "HEAD" or "another site" in answer.error), (
                method,
                path,
            )
    if "Sec-Fetch-Site" in headers:
        assert client.upload(b"x", None, Origin=own, **headers).status == 403, "an Origin does not help"
    for path in ("/", "/static/app.js"):
        assert client.get(path, headers).status == 200, "a link may lead to the page"
        assert client.ask("POST", path, headers=headers).status == 403


def test_own_pages(client: Client) -> None:
    own = {"Origin": f"http://127.0.0.1:{client.port}"}
    for headers in (own, {"Sec-Fetch-Site": "same-origin", "Origin": "https://photos.example"}):
        assert client.upload(b"x", None, **headers).status == 415, headers
        assert client.get("/api/search", headers, q="x").status == 200, headers
    assert client.get("/api/collection", {"Sec-Fetch-Site": "none"}).status == 200, (
        "an address that was typed in"
    )
    forwarded = {"Origin": "https://photos.example", "X-Forwarded-Host": "photos.example"}
    assert client.upload(b"x", None, **forwarded).status == 415


def test_refusals_at_the_start(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusal(*arguments: str) -> str:
        """What `lingvis serve` says when it does not start."""
        with pytest.raises(SystemExit) as ended:
            main(["serve", str(home / "photos.lv"), *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == 2 and err.count("\n") == 1 and out == ""
        return err

    monkeypatch.delenv("LINGVIS_TOKEN", raising=False)
    reachable = refusal("--host", "0.0.0.0", "--port", "0")
    assert (
        "can be reached by others" in reachable
        and "--token-file FILE" in reachable
        and "--no-auth" in reachable
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} of 127.0.0.1 is in use" in refusal("--port", port)
    assert "70000" in refusal("--port", "70000")
    assert "unknown host" in refusal("--host", "no.such.host.invalid")
    assert "not an address of this machine" in refusal("--host", "192.0.2.1", "--no-auth")
    assert "at least 16 printable" in refusal("--token", "short")
    assert "easily guessed" in refusal("--token", "passwordpassword")
    (tmp_path / "token").write_text("")
    for mode in (0o640, 0o604, 0o666):
        (tmp_path / "token").chmod(mode)
        sentence = refusal("--token-file", str(tmp_path / "token"))
        assert f"can be read by other users of this machine (mode {mode:o}); run: chmod 600" in sentence
    (tmp_path / "token").chmod(0o600)
    assert "at least 16 printable" in refusal("--token-file", str(tmp_path / "token"))
    assert "no such file" in refusal("--token-file", str(tmp_path / "nothing")).lower()
    assert "exclude" in refusal("--token", TOKEN, "--token-file", str(tmp_path / "token"))
    assert "exclude" in refusal("--token", TOKEN, "--no-auth")
    monkeypatch.setenv("LINGVIS_TOKEN", "short")
    assert "at least 16 printable" in refusal()


def test_open_to_all_and_ended_by_ctrl_c(home: Path, tmp_path: Path) -> None:
    arguments = [str(home / "photos.lv"), "--host", "0.0.0.0", "--no-auth"]
    with serving(*arguments, env={"LINGVIS_TOKEN": TOKEN}, log=tmp_path / "log") as (port, pid):
        with socket.create_connection(("127.0.0.1", port)):  # an idle client must not hold it up
            assert Client(port, {"Host": "photos.example"}).get("/api/collection").status == 200
            os.kill(pid, signal.SIGINT)
            start = time.monotonic()
            _, status = os.waitpid(pid, 0)
            assert time.monotonic() - start < 5
        assert os.waitstatus_to_exitcode(status) == 0
    assert (tmp_path / "log").read_text() == "stopped\n"


def _cookie_name(client: Client) -> str:
    answer = client.ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}')
    return answer.headers["set-cookie"].partition("=")[0]
