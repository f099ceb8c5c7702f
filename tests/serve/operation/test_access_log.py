"""The access log has one line per request, and nothing that a person typed or must keep secret."""

from __future__ import annotations

import json
import time
from pathlib import Path

from ..conftest import Client, serving

TOKEN = "correct-horse-battery-staple"
KEY = {"Authorization": f"Bearer {TOKEN}"}


def lines_of(log: Path, count: int) -> list[str]:
    deadline = time.monotonic() + 20
    while len(lines := log.read_text().splitlines()) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    return lines


def test_json_lines(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    arguments = [str(home / "photos.lv"), "--access-log", "--log-format", "json"]
    env = {"LINGVIS_TOKEN": TOKEN, "LINGVIS_LOG_LEVEL": "info"}
    with serving(*arguments, env=env, log=log) as (port, _):
        client = Client(port, KEY)
        found = client.get("/api/search", q="the house\nlingvis")
        Client(port, {}).get("/api/search", q="the house")
        client.ask("GET", "/x%0Alingvis:%20forged%E2%80%A8")
        Client(port, {}).ask("POST", "/api/session", f'{{"token": "{TOKEN}"}}')
        start, *records = [json.loads(line) for line in lines_of(log, 5)]
    assert start["level"] == "info" and start["message"].startswith(
        f"serving {home / 'photos.lv'} at http://"
    )
    expected = [("GET", "/api/search", 200), ("GET", "/api/search", 401)]
    expected += [("GET", "/x\nlingvis: forged\u2028", 404), ("POST", "/api/session", 204)]
    assert [(record["method"], record["path"], record["status"]) for record in records] == expected
    assert records[0]["bytes"] == len(found.body) and 0 < records[0]["ms"] < 30_000
    assert {record["client"] for record in records} == {"127.0.0.1"}
    assert TOKEN not in log.read_text() and "house" not in log.read_text()


def test_text_lines_are_not_left_out_cannot_be_forged_and_have_queries_if_asked(
    home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    open_to_all = ["--host", "0.0.0.0", "--no-auth"]
    with serving(str(home / "photos.lv"), *open_to_all, "--access-log", "--log-queries", log=log) as (
        port,
        _,
    ):
        client = Client(port, {})
        for _ in range(15):
            client.get("/api/health")
        client.ask("GET", "/x%0Alingvis:%20forged?q=the%0Ahouse")
        lines = lines_of(log, 16)
    assert len(lines) == 16 and all(line.startswith("lingvis: 20") for line in lines)
    time_, address, method, path, status, *_ = lines[0].removeprefix("lingvis: ").split()
    assert (address, method, path, status) == ("127.0.0.1", "GET", "/api/health", "200") and "T" in time_
    assert "/x\\nlingvis: forged 404" in lines[15] and lines[15].endswith(" ms ?q=the%0Ahouse")
