"""No request of a stranger freezes the server: time grows with the size of the request, and others are answered."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import serving

TOKEN = "correct-horse-battery"
SIZES = ((2_000, 8_000), (60_000, 240_000))  # bytes: within the limits of headers and paths, and beyond
GROWTH = 8  # times the time for 4 times the bytes; quadratic growth is 16
FLOOR = 0.02  # seconds of the processor that are noise
BESIDE = 0.1  # seconds for another client
TRIES = 5

Build = Callable[[int], bytes]
pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux")


@dataclass(frozen=True)
class Running:
    """Port and process id of a server."""

    port: int
    pid: int


def head(*headers: str, path: str = "/api/search", method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode("latin-1")


def filled(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def header(name: str, unit: str, start: str = "", path: str = "/api/collection") -> Build:
    return lambda size: head(f"{name}: {start}{filled(unit, size)}", path=path)


def address(unit: str, start: str, end: str = "") -> Build:
    return lambda size: head(path=start + filled(unit, size) + end)


def parameters(path: str) -> Build:
    return lambda size: head(path=path + "?" + "&".join(f"p{number}=" for number in range(size // 8)))


def body(content: Callable[[int], bytes], path: str, *headers: str) -> Build:
    def build(size: int) -> bytes:
        data = content(size)
        return head(f"Content-Length: {len(data)}", *headers, path=path, method="POST") + data

    return build


def chunked(unit: bytes, path: str) -> Build:
    start = head(
        "Transfer-Encoding: chunked",
        "Content-Type: multipart/form-data; boundary=x",
        path=path,
        method="POST",
    )
    return lambda size: start + unit * (size // len(unit)) + b"0\r\n\r\n"


def fields(size: int) -> bytes:
    part = b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nx\r\n'
    return part * (size // len(part)) + b"--x--\r\n"


CLIENTS = itertools.count(1)  # a client that sends too many wrong tokens has to wait
FORM = "Content-Type: multipart/form-data; boundary=x"
OPEN = ["/", "/static/app.js", "/openapi.json", "/api/health", "/api/session"]
CLOSED = ["/api/search", "/api/collection", "/api/items/x", "/api/items/x/similar", "/api/items/x/thumbnail"]
CLOSED += ["/api/items/x/picture", "/metrics", "/nothing"]
KINDS: dict[str, Build] = {
    "quoted cookie": header("Cookie", '\\"', 'a="'),
    "cookies": header("Cookie", "a=b; "),
    "cookie of spaces": header("Cookie", " ", "a="),
    "bearer": lambda size: head(
        f"Authorization: Bearer {filled('x', size)}", f"X-Forwarded-For: 198.51.100.{next(CLIENTS)}"
    ),
    "content type": lambda size: head(
        "Content-Length: 0", f"Content-Type: multipart/form-data; {filled('a=b; ', size)}", method="POST"
    ),
    "quoted content type": lambda size: head(
        "Content-Length: 0", f'Content-Type: multipart/form-data; a="{filled(chr(92), size)}', method="POST"
    ),
    "marks": header("If-None-Match", '"a", ', path="/static/app.js"),
    "date": header("If-Modified-Since", "1 ", path="/static/app.js"),
    "ranges": lambda size: head(
        "Range: bytes=" + ",".join(f"{number}-{number}" for number in range(size // 10)),
        path="/static/app.js",
    ),
    "ranges of the page": header("Range", "0-,", "bytes=", path="/"),
    "origin": header("Origin", "[", "http://"),
    "forwarded": header("X-Forwarded-For", "1.2.3.4, "),
    "connection": header("Connection", "a, "),
    "encodings": header("Accept-Encoding", "a;q=0.1, "),
    "headers": lambda size: head(*["a:"] * (size // 4)),
    "cookie headers": lambda size: head(*["Cookie: a=b"] * (size // 13)),
    "folded header": lambda size: head("a: b" + "\r\n c" * (size // 4)),
    "long text": address("x", "/api/search?q="),
    "escaped text": address("%41", "/api/search?q="),
    "escaped letters": address("%F0%9F%90%95", "/api/search?q="),
    "pluses": address("+", "/api/search?q="),
    "one name": address("q=&", "/api/search?"),
    "long path": address("x", "/api/items/", "/picture"),
    "escaped path": address("%41", "/api/items/"),
    "slashes": address("/", "/"),
    "folders": address("a/", "/static/"),
    "folders above": address("../", "/static/"),
    "deep token": body(lambda size: b"[" * size, "/api/session"),
    "long token": body(lambda size: b'{"token": "' + b"\\u0041" * (size // 6) + b'"}', "/api/session"),
    "chunks of a token": chunked(b"1\r\n[\r\n", "/api/session"),
    "chunks of a picture": chunked(b"1\r\na\r\n", "/api/search"),
    "trailers": lambda size: (
        head("Transfer-Encoding: chunked", path="/api/session", method="POST")
        + b"0\r\n"
        + b"a:\r\n" * (size // 4)
        + b"\r\n"
    ),
    "fields": body(fields, "/api/search", FORM),
    "part of a form": body(lambda size: b"--x\r\na: " + b"b" * size, "/api/search", FORM),
    "boundaries": body(lambda size: b"--x\r\n" * (size // 5), "/api/search", FORM),
    "pipelined": lambda size: head(path="/api/health") * (size // 50),
    **{f"parameters of {path}": parameters(path) for path in (*OPEN, *CLOSED)},
}


def processor_seconds(pid: int) -> float:
    """The time for which the main thread of a process ran: other work of the machine does not count."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def beside(server: Running) -> Iterator[list[float]]:
    """The seconds that requests for /api/health on another connection had to wait for the server's work."""
    seconds: list[float] = []
    done = threading.Event()

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        while not done.is_set():
            start = processor_seconds(server.pid)
            connection.request("GET", "/api/health")
            answer = connection.getresponse()
            answer.read()
            seconds.append(processor_seconds(server.pid) - start)
            assert answer.status == 200
            done.wait(0.003)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield seconds
    finally:
        done.set()
        thread.join()


def send(port: int, data: bytes, piece: int = 1 << 20) -> bytes:
    """The first line of the answer; empty if the server closed the connection meanwhile."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for begin in range(0, len(data), piece):
                connection.sendall(data[begin : begin + piece])
            answer = connection.recv(65536)
        except ConnectionError:
            pass
    return answer.partition(b"\r\n")[0]


def check_growth(server: Running, small: bytes, large: bytes, piece: int = 1 << 20) -> None:
    """Send both several times; all times are those of the processor, since a test machine may have other work.

    The least time of several tries counts: Python may collect garbage or import a module in one of them.
    """
    used = dict.fromkeys((small, large), float("inf"))
    for _ in range(TRIES):
        with beside(server) as waits:
            for data in used:
                start = processor_seconds(server.pid)
                for _ in range(3):
                    assert b" 500 " not in send(server.port, data, piece)
                used[data] = min(used[data], processor_seconds(server.pid) - start)
        linear = used[large] / max(used[small], FLOOR) <= GROWTH
        if linear and max(waits) < BESIDE:
            return
    assert linear, used.values()
    assert max(waits) < BESIDE


@pytest.fixture(scope="module", params=["with a token", "without a token"])
def server(
    request: pytest.FixtureRequest, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A server that logs nothing, whatever it gets."""
    log = tmp_path_factory.mktemp("freeze") / "log"
    env = {"LINGVIS_TOKEN": TOKEN if request.param == "with a token" else ""}
    with serving(str(home / "photos.lv"), env=env, log=log) as (port, pid):
        yield Running(port, pid)
    assert log.read_text() == ""


@pytest.mark.parametrize("kind", list(KINDS))
def test_time_grows_with_the_size(server: Running, kind: str) -> None:
    for small, large in SIZES:
        check_growth(server, KINDS[kind](small), KINDS[kind](large))


@pytest.mark.parametrize("kind", ["headers", "chunks", "text"])
def test_single_bytes(server: Running, kind: str) -> None:
    small, large = (
        {
            "headers": head(*[f"a{number}: b" for number in range(22 * factor)], path="/api/health"),
            "chunks": chunked(b"1\r\na\r\n", "/api/session")(500 * factor),
            "text": head(path="/api/health?q=" + "x" * 500 * factor),
        }[kind]
        for factor in (1, 4)
    )
    check_growth(server, small, large, piece=1)
