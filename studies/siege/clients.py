"""Paced clients in a process of their own: each sends one request per second, a search and then four thumbnails.

Prints one JSON line per request: the moment at which it was due, its kind, the seconds until its answer, its status.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from urllib.parse import urlencode

from studies.search.model import PHRASES, sentences

THUMBNAILS = 4
PERIOD = 1.0  # seconds between two requests of a client
TIMEOUT = 30.0


class PacedClient(threading.Thread):
    """Sends when a request is due, whether or not earlier ones were slow; a late answer delays the next ones, and the
    delay counts as time of theirs."""

    def __init__(self, number: int, port: int, token: str, until: float) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, str, float, str]] = []
        self._random, self._until = random.Random(number), until
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._hits: list[str] = []

    def run(self) -> None:
        """Send requests until the time is over."""
        queries = sentences(list(PHRASES), 10_000)
        # Begin at any moment of a cycle, so that clients do not search all at once.
        due = time.monotonic() + self._random.random() * PERIOD * (1 + THUMBNAILS)
        while due < self._until:
            time.sleep(max(0.0, due - time.monotonic()))
            if self._hits:
                self._get(due, "thumbnail", f"/api/items/{self._hits.pop()}/thumbnail")
            else:
                query = urlencode({"q": self._random.choice(queries), "k": 20})
                answer = self._get(due, "search", f"/api/search?{query}")
                self._hits = [hit["id"] for hit in json.loads(answer)["hits"][:THUMBNAILS]] if answer else []
            due += PERIOD

    def _get(self, due: float, kind: str, path: str) -> bytes | None:
        """The body of the answer, None without one; the request is sent again if the server had closed the idle
        connection, as browsers do."""
        body, status = b"", ""
        for _ in range(2):
            reused = self._connection.sock is not None
            try:
                self._connection.request("GET", path, headers=self._headers)
                answer = self._connection.getresponse()
                body, status = answer.read(), str(answer.status)
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                status = type(error).__name__
                if not (reused and isinstance(error, ConnectionError)):
                    break
        self.samples.append((due, kind, time.monotonic() - due, status))
        return body if status == "200" else None


def run_clients() -> None:
    """Run the clients that the arguments name: port, token, number of clients, seconds."""
    port, token, count, seconds = sys.argv[1:]
    until = time.monotonic() + float(seconds)
    clients = [PacedClient(number, int(port), token, until) for number in range(int(count))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for client in clients:
        for sample in client.samples:
            print(json.dumps(sample))


if __name__ == "__main__":
    run_clients()
