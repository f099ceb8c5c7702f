"""A server of two processes: they share sessions, wrong tokens, downloads and metrics, and none is missed when it dies."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lingvis.cli import main
from lingvis.serve.limits.guesses import FREE, LATE

from .conftest import Answer, Client, serving

TOKEN = "correct-horse-battery"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
SECONDS = 30.0


@dataclass(frozen=True)
class Pair:
    """A server of two workers: its port, its process, its log."""

    port: int
    process: int
    log: Path

    @property
    def workers(self) -> set[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        return {int(child) for child in children if b"spawn_main" in _command(int(child))}

    def connections(self) -> dict[int, Line]:
        """An open connection to each worker, by the process that holds its other end."""
        found: dict[int, Line] = {}
        until = time.monotonic() + SECONDS
        while len(found) < 2 and time.monotonic() < until:
            line = Line(self.port)
            line.ask("GET", "/api/health")
            found[line.holder(self.workers)] = line  # the newest: an idle one is closed after a while
            time.sleep(0.02)
        return found


class Line:
    """A connection that stays open, so that one worker answers all that it sends."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, named, answer.read())

    def holder(self, workers: set[int]) -> int:
        """The worker with the server's end of this connection, as the system lists it."""
        local, remote = self._connection.sock.getsockname()[1], self._connection.port
        for entry in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = entry.split()
            ports = int(fields[1].rpartition(":")[2], 16), int(fields[2].rpartition(":")[2], 16)
            if ports == (remote, local):
                return next(worker for worker in workers if f"socket:[{fields[9]}]" in _files(worker))
        raise AssertionError("the connection is not listed")


@pytest.fixture(scope="module")
def pair(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    log = tmp_path_factory.mktemp("pair") / "log"
    arguments = (str(home / "photos.lv"), "--workers", "2")
    with serving(*arguments, env={"LINGVIS_TOKEN": TOKEN}, log=log) as (port, process):
        yield Pair(port, process, log)


def test_a_session_holds_in_every_worker(pair: Pair) -> None:
    one, other = pair.connections().values()
    started = one.ask("POST", "/api/session", json.dumps({"token": TOKEN}))
    cookie = started.headers["set-cookie"].partition(";")[0]
    for line in (one, other):
        assert len(line.ask("GET", "/api/search?q=red", Cookie=cookie).json["hits"]) > 1
    assert other.ask("DELETE", "/api/session", Cookie=cookie).status == 204
    assert [line.ask("GET", "/api/search?q=red", Cookie=cookie).status for line in (one, other)] == [401, 401]


def test_a_download_and_an_album_are_known_to_every_worker(pair: Pair) -> None:
    one, other = pair.connections().values()
    ids = [hit["id"] for hit in one.ask("GET", "/api/search?q=red&k=2", **RIGHT).json["hits"]]
    kind = {**RIGHT, "Content-Type": "application/json"}
    ticket = one.ask("POST", "/api/downloads", json.dumps({"ids": ids}), **kind).json
    archive = other.ask("GET", f"/api/downloads/{ticket['id']}", **RIGHT)
    assert archive.status == 200 and archive.body.startswith(b"PK")
    assert one.ask("POST", "/api/albums", json.dumps({"album": "Rome", "add": ids}), **kind).status == 200
    albums = other.ask("GET", "/api/albums", **RIGHT).json["albums"]
    assert {"name": "Rome", "pictures": 2} in [{k: a[k] for k in ("name", "pictures")} for a in albums]


def test_metrics_add_up(pair: Pair) -> None:
    def searches(line: Line) -> float:
        text = line.ask("GET", "/metrics", **RIGHT).body.decode()
        wanted = 'lingvis_requests_total{route="/api/search",status="200"} '
        return sum(float(row.removeprefix(wanted)) for row in text.splitlines() if row.startswith(wanted))

    one, other = pair.connections().values()
    before = searches(one)
    for line, count in ((one, 2), (other, 3)):
        for _ in range(count):
            assert line.ask("GET", "/api/search?q=blue", **RIGHT).status == 200
    assert searches(one) == searches(other) == before + 5
    text = other.ask("GET", "/metrics", **RIGHT).body.decode()
    assert "lingvis_pictures 9.0" in text and text.count("\nlingvis_busy_total ") == 1


def test_wrong_tokens_count_in_all_workers_together(pair: Pair) -> None:
    one, other = pair.connections().values()
    wrong = {"Authorization": "Bearer wrong", "X-Forwarded-For": "203.0.113.9"}
    start = time.monotonic()
    for line in ([one, other] * FREE)[:FREE]:
        assert line.ask("GET", "/api/collection", **wrong).status == 401
    assert time.monotonic() - start > LATE * 0.9, "neither worker alone has seen so many"


def test_a_worker_that_was_killed_comes_back(pair: Pair) -> None:
    before = pair.workers
    lines = pair.connections()
    killed, left = sorted(lines)
    os.kill(killed, signal.SIGKILL)
    assert lines[left].ask("GET", "/api/search?q=red", **RIGHT).status == 200, "the other answers meanwhile"
    until = time.monotonic() + SECONDS
    while not (len(pair.workers) == 2 and killed not in pair.workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(pair.workers - before) == 1 and left in pair.workers
    answers = [line.ask("GET", "/api/search?q=red", **RIGHT) for line in pair.connections().values()]
    assert [answer.status for answer in answers] == [200, 200]
    assert pair.log.read_text().count("ended with code -9; another is started") == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_all_workers_end_with_the_server(home: Path, tmp_path: Path, end: signal.Signals) -> None:
    log = tmp_path / "log"
    temporary = {"TMPDIR": str(tmp_path)}
    with serving(str(home / "photos.lv"), "--workers", "2", env=temporary, log=log) as (port, process):
        workers = Pair(port, process, log).workers
        assert len(workers) == 2 and Client(port, {}).search("red").status == 200
        idle = Client(port, {}).connect()  # a client that says nothing holds nobody up
        os.kill(process, end)
        until = time.monotonic() + SECONDS
        while any(_command(each) for each in {*workers, process}) and time.monotonic() < until:
            time.sleep(0.05)
        assert [each for each in {*workers, process} if _command(each)] == []
        idle.close()
    assert "Traceback" not in log.read_text()
    assert end == signal.SIGKILL or not list(tmp_path.glob("lingvis-serve-*"))
    assert ("stopped" in log.read_text()) == (end == signal.SIGINT)


def test_what_several_workers_cannot_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, sentence in (
            (["--workers", "0"], "workers"),
            (["--workers", "2", "--port", str(port)], f"port {port} of 127.0.0.1 is in use"),
        ):
            with pytest.raises(SystemExit) as ended:
                main(["serve", str(home / "photos.lv"), *arguments])
            assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_a_model_that_is_gone_ends_the_start(home: Path, tmp_path: Path) -> None:
    collection, damaged = tmp_path / "photos.lv", tmp_path / "model"
    subprocess.run(["cp", "-r", str(home / "photos.lv"), str(collection)], check=True)
    subprocess.run(["cp", "-r", str(home / "model"), str(damaged)], check=True)
    (damaged / "config.json").write_text("{")
    (tmp_path / "multiprocessing.py").write_text("raise SystemExit('imported from the current folder')")
    program = Path(sys.executable).with_name("lingvis")
    done = subprocess.run(
        [program, "serve", collection, "--model", damaged, "--port", "0", "--workers", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and "config.json" in done.stderr and "Traceback" not in done.stderr


def _command(process: int) -> bytes:
    """The command of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _files(process: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(entry))
    return found
