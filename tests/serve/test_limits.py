"""Bounded work: what is too much, too slow or fails."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lingvis.collection.collection import Collection
from lingvis.collection.notebook import Hits
from lingvis.serve.limits import protocol
from lingvis.serve.settings import ServerSettings

from .conftest import Client, form, in_thread


class Held(Collection):
    """A collection that keeps a question until the test lets it go; "fail" fails."""

    def hold(self) -> Held:
        self.go, self.asked, self.begun = threading.Event(), threading.Semaphore(0), 0
        return self

    def search(self, text: Any = None, **options: Any) -> Hits:
        self.begun += 1
        self.asked.release()
        if text == ["fail"]:
            raise KeyError("secret of the inside")
        assert self.go.wait(20)
        return super().search(text, **options)


@pytest.fixture
def held(home: Path) -> Iterator[Held]:
    collection = Held(home / "photos.lv", device="cpu").hold()
    assert collection.model
    yield collection
    collection.go.set()


@contextmanager
def asking(client: Client, count: int) -> Iterator[list[Any]]:
    """Questions under way."""
    with ThreadPoolExecutor(count) as pool:
        yield [pool.submit(client.search, f"question {number}") for number in range(count)]


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_more_than_can_wait_is_refused_at_once(held: Held, home: Path) -> None:
    with in_thread(held, ServerSettings(searching=2, waiting=1)) as client, asking(client, 4) as questions:
        assert held.asked.acquire(timeout=10) and held.asked.acquire(timeout=10)
        wait_until(lambda: any(question.done() for question in questions))
        start = time.monotonic()
        refused = client.search("one more")
        assert refused.status == 429 and refused.headers["retry-after"] == "1" and "busy" in refused.error
        assert time.monotonic() - start < 2
        body, kind = form(b"never read", {})
        assert client.ask("POST", "/api/search", body, {"Content-Type": kind}).status == 429
        assert held.begun == 2, "only so many at once"
        assert client.get("/api/health").status == 200 and client.get("/api/collection").status == 200
        held.go.set()
        statuses = sorted(question.result().status for question in questions)
        assert statuses == [200, 200, 200, 429]
        assert client.search("now").status == 200
        assert "lingvis_busy_total 3.0" in client.get("/metrics").body.decode()


def test_a_search_that_takes_too_long(held: Held) -> None:
    with in_thread(held, ServerSettings(searching=1, waiting=1, seconds=0.3)) as client:
        with asking(client, 2) as questions:
            slow = [question.result() for question in questions]
        assert [answer.status for answer in slow] == [503, 503]
        assert "0.3 seconds" in slow[0].error and slow[0].headers["retry-after"] == "5"
        assert held.begun == 1, "the one that waited is not begun any more"
        assert client.search("third").status == 503, "the thread is still taken: it waits"
        held.go.set()
        wait_until(lambda: client.search("x").status == 200)


def test_failures_tell_nothing(held: Held, caplog: pytest.LogCaptureFixture) -> None:
    with in_thread(held, ServerSettings()) as client:
        answer = client.search("fail")
        assert answer.status == 500 and answer.error == "the server failed; see its log"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "secret of the inside" in caplog.text and "GET /api/search failed" in caplog.text
        assert (
            'lingvis_requests_total{route="/api/search",status="500"} 1.0'
            in client.get("/metrics").body.decode()
        )


def answered(connection: socket.socket) -> bool:
    """Whether the server answers on this connection."""
    connection.sendall(b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}") and (data := connection.recv(65536)):
        answer += data
    return b" 200 OK" in answer


def _closed_after(connection: socket.socket) -> float:
    start = time.monotonic()
    connection.settimeout(10)
    while connection.recv(65536):
        pass
    return time.monotonic() - start


def test_slow_clients_are_cut(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.5)
    held.go.set()
    with in_thread(held, ServerSettings(upload_seconds=0.5)) as client:
        with socket.create_connection(("127.0.0.1", client.port)) as silent:
            assert 0.3 < _closed_after(silent) < 5
        with socket.create_connection(("127.0.0.1", client.port)) as slow:
            for letter in b"GET / HT":  # a letter now and then does not buy more time
                slow.sendall(bytes([letter]))
                time.sleep(0.05)
            assert _closed_after(slow) < 3
        with socket.create_connection(("127.0.0.1", client.port)) as upload:
            head = "POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
            upload.sendall(f"{head}Content-Type: multipart/form-data; boundary=x\r\n\r\n--x".encode())
            upload.settimeout(10)
            assert b" 408 " in upload.recv(65536)
        with socket.create_connection(("127.0.0.1", client.port)) as patient:
            for _ in range(2):  # answers on one connection, with less than the limit between them
                patient.sendall(b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = b""
                while not answer.endswith(b"}"):
                    answer += patient.recv(65536)
                assert b" 200 OK" in answer
                time.sleep(0.3)


def begin_upload(port: int) -> socket.socket:
    """A picture that is being sent, and never comes to its end."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = "POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
    connection.sendall(f"{head}Content-Type: multipart/form-data; boundary=x\r\n\r\n--x".encode())
    return connection


def test_pictures_that_are_being_received_have_places_of_their_own(held: Held, home: Path) -> None:
    picture = (home / "photos" / "dot.png").read_bytes()
    held.go.set()
    with in_thread(held, ServerSettings(searching=1, waiting=1, uploading=8)) as client:
        senders = [begin_upload(client.port) for _ in range(2)]

        def full() -> bool:
            if client.upload(picture).status == 429:
                return True
            senders.append(
                begin_upload(client.port)
            )  # ours may have had the place of one, which was refused then
            return False

        wait_until(full)
        refused = client.upload(picture)
        assert refused.status == 429 and refused.headers["retry-after"] == "1" and "busy" in refused.error
        assert client.search("words").status == 200, "slow senders hold up no words"
        for sender in senders:
            sender.close()
        wait_until(lambda: client.upload(picture).status == 200)
        for _ in range(5):  # every place was given back
            assert client.upload(picture).status == 200
            assert client.upload(b"no picture").status == 415


def check_refused(client: Client) -> None:
    """Too much at once is told like all that is refused."""
    for path in ("/api/health", "/", "/api/nothing"):
        refused = client.get(path)
        assert refused.status == 429 and refused.headers["retry-after"] == "1" and "busy" in refused.error
        assert "default-src 'none'" in refused.headers["content-security-policy"]
        assert refused.headers["x-content-type-options"] == "nosniff"


def test_more_requests_than_places_are_refused(held: Held) -> None:
    with in_thread(held, ServerSettings(searching=2, waiting=9, requests=8)) as client:
        with asking(client, 2) as questions:
            assert held.asked.acquire(timeout=10) and held.asked.acquire(timeout=10)
            check_refused(client)
            held.go.set()
            assert [question.result().status for question in questions] == [200, 200]
        assert client.get("/api/health").status == 200
        assert "lingvis_busy_total 3.0" in client.get("/metrics").body.decode()


def test_more_connections_than_places_are_refused(held: Held) -> None:
    with in_thread(held, ServerSettings(searching=3, waiting=9, connections=12)) as client:
        with asking(client, 3) as questions:
            assert all(held.asked.acquire(timeout=10) for _ in range(3))
            check_refused(client)
            assert client.get("/api/health").headers["connection"] == "close"
            other = replace(client, address="127.0.0.2")
            assert other.get("/api/health").status == 200, "another address has places of its own"
            held.go.set()
            assert [question.result().status for question in questions] == [200, 200, 200]
        assert client.get("/api/health").status == 200


def test_idle_connections_make_room(held: Held) -> None:
    held.go.set()
    with in_thread(held, ServerSettings(connections=12)) as client:
        known = client.connect()
        assert answered(known)
        idle = [client.connect() for _ in range(3)]
        half = client.connect(b"GET /api/health HTTP/1.1\r\nHost:")
        for _ in range(20):
            assert client.get("/api/health").status == 200
        assert _closed_after(idle[0]) < 1, "the one that waited longest"
        assert answered(known), "one that was answered before stays"
        addresses = [f"127.0.0.{number}" for number in range(2, 7)]
        others = [replace(client, address=address).connect() for address in addresses for _ in range(3)]
        assert client.get("/api/health").status == 200 and answered(others[-1])
        for connection in (known, *idle, half, *others):
            connection.close()


def test_many_at_once_get_an_answer_or_429(home: Path) -> None:
    collection = Collection.open(home / "photos.lv", device="cpu")
    expected = {}
    for number in range(20):
        text = f"dog {number}"
        expected[text] = [hit.to_json() for hit in collection.search(text, k=3)]
    with in_thread(Collection.open(home / "photos.lv", device="cpu"), ServerSettings()) as client:
        assert client.search("a", k=1).status == 200  # the model is loaded now
        refused = 0

        def ask(number: int) -> None:
            nonlocal refused
            text = f"dog {number % 20}"
            while (answer := client.search(text, k=3)).status == 429:
                refused += 1
                time.sleep(0.05)
            assert answer.status == 200 and answer.json["hits"] == expected[text]

        with ThreadPoolExecutor(40) as pool:
            assert len(list(pool.map(ask, range(200)))) == 200
        assert f"lingvis_busy_total {refused:.1f}" in client.get("/metrics").body.decode()
