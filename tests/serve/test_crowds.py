"""Clients that hold connections, send slowly or send more than they are asked for lock nobody out."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from lingvis.collection.collection import Collection
from lingvis.serve.limits import pace, protocol
from lingvis.serve.settings import ServerSettings

from .conftest import Client, in_thread, serving
from .test_limits import wait_until

TOKEN = "correct-horse-battery"
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
POST = "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n"


@pytest.fixture(scope="module")
def collection(home: Path) -> Collection:
    return Collection.open(home / "photos.lv", device="cpu")


@pytest.fixture(scope="module")
def guarded(collection: Collection) -> Iterator[Client]:
    """A server with a token."""
    with in_thread(collection, ServerSettings(token=TOKEN)) as client:
        yield client


def post(path: str, length: int) -> bytes:
    return POST.format(path=path, length=length).encode()


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionError:
        pass
    return received


def sends_until_closed(connection: socket.socket) -> float:
    """The seconds for which a client can go on sending."""
    start = time.monotonic()
    try:
        while time.monotonic() - start < 30:
            connection.sendall(b"x" * 1000)
            time.sleep(0.05)
    except ConnectionError:
        pass
    return time.monotonic() - start


def test_idle_connections_lock_nobody_out(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        serving(str(home / "photos.lv"), log=log, files=300) as (port, _),
        ExitStack() as stack,
    ):
        client = Client(port, {})
        for number in range(700):
            attacker = replace(client, address=f"127.0.0.{number % 5 + 2}")
            stack.enter_context(attacker.connect())
            if number % 50 == 0:
                assert client.get("/api/health").status == 200
        for _ in range(10):
            assert client.get("/api/health").status == 200
            assert attacker.get("/api/health").status == 200, "its own idle connections make room"
    assert len(log.read_text()) < 5000


def test_slow_posts_lock_nobody_out(collection: Collection, home: Path) -> None:
    picture = (home / "photos" / "dot.png").read_bytes()
    with in_thread(collection, ServerSettings()) as client, ExitStack() as stack:
        slow = replace(client, address="127.0.0.2")
        for path in ("/api/search", "/api/session"):
            for _ in range(150):
                stack.enter_context(slow.connect(post(path, 1000) + b"--x"))
        wait_until(lambda: slow.upload(picture).status == 429)
        wait_until(lambda: slow.ask("POST", "/api/session", "{}").status == 429)
        assert client.upload(picture).status == 200
        assert client.ask("POST", "/api/session", "{}").status == 422
        assert slow.get("/api/health").status == 200, "requests without a body have other places"


def test_one_client_cannot_take_all_uploads(collection: Collection, home: Path) -> None:
    picture = (home / "photos" / "dot.png").read_bytes()
    with in_thread(collection, ServerSettings(uploading=8)) as client, ExitStack() as stack:
        behind = {"X-Forwarded-For": "203.0.113.7"}
        start = post("/api/search", 1000).replace(b"\r\n\r\n", b"\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n")
        for _ in range(8):
            stack.enter_context(client.connect(start + b"--x"))
        wait_until(lambda: client.upload(picture, None, **behind).status == 429)
        assert client.upload(picture, None, **{"X-Forwarded-For": "203.0.113.8"}).status == 200
        forged = {"X-Forwarded-For": "203.0.113.9, 203.0.113.7"}
        assert client.upload(picture, None, **forged).status == 429, "the last entry is the proxy's"
        elsewhere = replace(client, address="127.0.0.2")
        assert elsewhere.upload(picture, None, **behind).status == 200, "this peer is no proxy"


def test_a_body_that_nobody_reads_ends_the_connection(guarded: Client) -> None:
    with guarded.connect(post("/api/search", 10_000_000)) as connection:
        start = time.monotonic()
        assert read_all(connection).startswith(b"HTTP/1.1 401 ")
        assert time.monotonic() - start < 4, "the server's side is closed at once"
        assert sends_until_closed(connection) < 20
    with guarded.connect(post("/api/search", 1_000_000) + b"x" * 1_000_000) as connection:
        assert read_all(connection).startswith(b"HTTP/1.1 401 "), (
            "a client that sends all first reads the answer"
        )


def test_a_slow_body(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.5)
    with in_thread(collection, ServerSettings()) as client:
        for path in ("/api/search", "/api/session"):
            with client.connect(post(path, 1000)) as connection:
                for byte in b"--x\r\nab":
                    connection.sendall(bytes([byte]))
                    time.sleep(0.1)
                assert read_all(connection).startswith(b"HTTP/1.1 408 ")
        assert client.get("/api/health").status == 200


def test_no_request_before_the_last_answer(guarded: Client) -> None:
    for many in (2, 2000):
        with guarded.connect(HEALTH * many) as connection:
            assert read_all(connection).count(b"200 OK") == 1
    client = http.client.HTTPConnection("127.0.0.1", guarded.port, timeout=20)
    for _ in range(3):  # one after the other is the ordinary case
        client.request("GET", "/api/health")
        local = client.sock.getsockname()
        assert client.getresponse().read() and client.sock.getsockname() == local
    client.close()


def test_small_chunks(guarded: Client) -> None:
    start = b"POST /api/session HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = f'{{"token": "{TOKEN}"}}'.encode()
    with guarded.connect(
        start + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    ) as connection:
        assert b" 204 " in connection.recv(65536), "a short body may come in small chunks"
    with guarded.connect(start + b"1\r\nx\r\n" * 1000) as connection:
        assert b"chunks" in read_all(connection)


def test_a_flood_of_connections_is_turned_away(collection: Collection) -> None:
    with in_thread(collection, ServerSettings()) as client:
        flood = replace(client, address="127.0.0.3")
        for _ in range(int(3 * pace.LONGEST_WAIT * pace.RATE)):
            flood.connect().close()
        assert not _answered(flood)
        assert client.get("/api/health").status == 200, "another address is not affected"
        wait_until(lambda: _answered(flood))


def _answered(client: Client) -> bool:
    try:
        return client.get("/api/health").status == 200
    except (ConnectionError, http.client.HTTPException):
        return False


def test_the_pace_of_connections() -> None:
    limit = pace.ConnectionPace({"127.0.0.1"})
    assert {limit.wait("127.0.0.1", 0.0) for _ in range(1000)} == {0.0}, "a proxy"
    waits = [limit.wait("a", 100.0) for _ in range(1000)]
    read = [wait for wait in waits if wait is not None]
    assert read[: pace.AT_ONCE] == pytest.approx([0.0] * pace.AT_ONCE, abs=1e-9)
    later = read[pace.AT_ONCE :]
    assert later == pytest.approx([(n + 1) / pace.RATE for n in range(len(later))], abs=1e-6)
    assert len(later) == pytest.approx(pace.LONGEST_WAIT * pace.RATE, abs=1)
    assert waits[len(read) :] == [None] * (1000 - len(read)), "the others are turned away"
    assert limit.wait("b", 100.0) == 0.0, "another peer is not affected"
    assert limit.wait("a", 101.0) == pytest.approx(pace.LONGEST_WAIT - 1, abs=0.02)
    assert limit.wait("a", 200.0) == 0.0
    for number in range(2 * pace.PEERS):
        limit.wait(str(number), 200.0)
    assert len(limit._next) == pace.PEERS
    assert {pace.ConnectionPace({"*"}).wait("a", 0.0) for _ in range(1000)} == {0.0}
