"""Attackers, one kind per process: each repeats its attack from a few connections until it is ended.

They run at the lowest priority, since a real attacker has a machine of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

from studies.siege.costly import deep_colour_png, large_webp, many_scans

AT_ONCE = 8  # connections of attacks that repeat requests
SIDE = 7900  # pixels, just below the limit of the server
SLOW_POSTS, IDLE_CONNECTIONS = 300, 3000
HEAD = "Host: 127.0.0.1\r\n"


class Attacker:
    """Connections to a server from a source address; token: for attackers who have it."""

    def __init__(self, port: int, source: str, token: str) -> None:
        self.token, self.sent = token, 0
        self._port, self._source = port, source

    def connect(self, timeout: float = 10.0) -> socket.socket:
        """A new connection."""
        self.sent += 1
        return socket.create_connection(("127.0.0.1", self._port), timeout, (self._source, 0))

    def send(self, data: bytes) -> None:
        """Send a request on a connection of its own and read the answer to its end or for ten seconds."""
        with contextlib.suppress(OSError), self.connect() as connection:
            connection.sendall(data)
            while connection.recv(65536):
                pass

    def repeat(self, requests: Iterator[bytes]) -> None:
        """Send requests as fast as they are answered or turned away, on several connections at once."""
        lock = threading.Lock()

        def run() -> None:
            while True:
                with lock:
                    data = next(requests)
                self.send(data)

        threads = [threading.Thread(target=run, daemon=True) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join(
        [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]
    ).encode()


def slow_posts(attacker: Attacker) -> None:
    """Posts of which a byte per second arrives."""
    head = f"POST /api/search HTTP/1.1\r\n{HEAD}Authorization: Bearer {attacker.token}\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 100000\r\n\r\n"
    _hold(attacker, SLOW_POSTS, head.encode(), b"-")


def idle_connections(attacker: Attacker) -> None:
    """Connections on which nothing arrives."""
    _hold(attacker, IDLE_CONNECTIONS, b"", b"")


def slow_heads(attacker: Attacker) -> None:
    """Heads of which a byte per second arrives."""
    _hold(attacker, SLOW_POSTS, f"GET / HTTP/1.1\r\n{HEAD}X: ".encode(), b"x")


def _hold(attacker: Attacker, count: int, first: bytes, drop: bytes) -> None:
    """Keep a number of connections open, each with a first part and then a drop per second."""
    held: list[socket.socket] = []
    while True:
        began = time.monotonic()
        alive = []
        for connection in held:
            time.sleep(0.5 / count)  # independent clients do not send all at once
            try:
                if drop:
                    connection.send(drop)
                elif connection.recv(1, socket.MSG_DONTWAIT) == b"":
                    raise ConnectionError
                alive.append(connection)
            except BlockingIOError:
                alive.append(connection)
            except OSError:
                connection.close()
        held = alive
        while len(held) < count and time.monotonic() < began + 1:
            try:
                connection = attacker.connect(1.0)
                connection.sendall(first)
                held.append(connection)
            except OSError:
                break
        time.sleep(max(0.0, began + 1 - time.monotonic()))


def cookies(attacker: Attacker) -> None:
    """200 KB of a quoted cookie."""
    attacker.repeat(itertools.repeat(_get("/api/collection", 'Cookie: a="' + '\\"' * 100_000 + '"')))


def parameters(attacker: Attacker) -> None:
    """20,000 names of parameters."""
    query = "&".join(f"n{number}=1" for number in range(20_000))
    attacker.repeat(itertools.repeat(_get(f"/api/search?{query}", f"Authorization: Bearer {attacker.token}")))


def guesses(attacker: Attacker) -> None:
    """Wrong tokens."""
    tokens = (secrets.token_urlsafe() for _ in itertools.count())
    attacker.repeat(_get("/api/collection", f"Authorization: Bearer {token}") for token in tokens)


def pictures(attacker: Attacker) -> None:
    """Uploads of pictures that are costly to decode, by somebody who has the token."""
    bodies = []
    for picture in (many_scans(5000, (4000, 4000)), large_webp(SIDE), deep_colour_png(SIDE)):
        part = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n'
        bodies.append(part + picture + b"\r\n--x--\r\n")
    attacker.repeat(
        (
            f"POST /api/search HTTP/1.1\r\n{HEAD}Authorization: Bearer {attacker.token}\r\nConnection: close\r\n"
            f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        + body
        for body in itertools.cycle(bodies)
    )


def heads(attacker: Attacker) -> None:
    """Heads near the limit of bytes, with thousands of headers, and beyond it."""
    near = _get("/api/health", *(f"X-{number}: {'x' * 20}" for number in range(8000)))
    beyond = _get("/api/health", "X: " + "x" * 1_000_000)
    attacker.repeat(itertools.cycle([near, beyond]))


def cross_site(attacker: Attacker) -> None:
    """Searches that a page of another site sends."""
    headers = ("Sec-Fetch-Site: cross-site", "Origin: http://evil.example")
    attacker.repeat(_get(f"/api/search?q=dog+{number}&k=200", *headers) for number in itertools.count())


def pipelining(attacker: Attacker) -> None:
    """A thousand requests at once on a connection whose answers are read at the end."""
    one = f"GET /openapi.json HTTP/1.1\r\n{HEAD}\r\n".encode()
    attacker.repeat(itertools.repeat(one * 1000 + _get("/api/health")))


def forged_lines(attacker: Attacker) -> None:
    """Addresses and headers that would write a line of their own into the log."""
    data = f"POST /x%0Alingvis:%20forged HTTP/1.1\r\n{HEAD}Origin: http://[\r\nContent-Length: 0\r\n"
    attacker.repeat(itertools.repeat((data + "Connection: close\r\n\r\n").encode()))


ATTACKS: dict[str, Callable[[Attacker], None]] = {
    "slow-posts": slow_posts,
    "slow-heads": slow_heads,
    "idle-connections": idle_connections,
    "cookies": cookies,
    "parameters": parameters,
    "guesses": guesses,
    "pictures": pictures,
    "heads": heads,
    "cross-site": cross_site,
    "pipelining": pipelining,
    "forged-lines": forged_lines,
}


def run_attack() -> None:
    """Attack until the process is ended, and print the number of connections so far.

    Arguments: name of the attack, port, source address, token.
    """
    name, port, source, token = sys.argv[1:]
    os.nice(19)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    attacker = Attacker(int(port), source, token)
    threading.Thread(target=ATTACKS[name], args=(attacker,), daemon=True).start()
    while True:
        time.sleep(0.5)
        print(attacker.sent, flush=True)


if __name__ == "__main__":
    run_attack()
