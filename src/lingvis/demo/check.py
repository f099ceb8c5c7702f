"""Compare the answers of a server with its collection, over HTTP."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lingvis import __version__
from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Hit
from lingvis.demo.server import CheckError

SECONDS = 60
RESULTS = 10
TOLERANCE = 1e-4  # of a score: the order of additions depends on the number of threads
SHOWN = 200  # characters of a wrong answer


def check_server(port: int, collection: Collection, texts: Sequence[str]) -> list[str]:
    """Compare health, numbers, searches, similar pictures, files and the page; returns the names of these checks."""
    server = _Server(port)
    try:
        _same("/api/health", server.json("/api/health"), {"status": "ok", "version": __version__})
        _check_numbers(server, collection)
        for text in texts:
            _check_search(server, collection, text)
        best = collection.search(texts[0], k=1)[0]
        _check_picture(server, collection, best)
        files = _check_page(server)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CheckError(f"the server returned an answer of an unexpected form ({error!r})") from error
    searches = f"{len(texts)} searches"
    return ["health", "collection", searches, "similar", "thumbnail", "picture", f"page with {files} files"]


class _Server:
    """Requests to a server on this machine, without a proxy."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, path: str, **parameters: Any) -> bytes:
        address = f"{path}?{urlencode(parameters)}" if parameters else path
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        try:
            connection.request("GET", address)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise CheckError(f"the server does not answer at {path} ({error!r})") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise CheckError(f"the server answers {answer.status} at {path}: {_short(body.decode())}")
        return body

    def json(self, path: str, **parameters: Any) -> Any:
        return json.loads(self.get(path, **parameters))


def _check_numbers(server: _Server, collection: Collection) -> None:
    got, numbers, model = server.json("/api/collection"), collection.statistics(), collection.model
    expected = {
        "pictures": numbers.pictures,
        "notes": numbers.captions,
        "bytes": numbers.bytes,
        "formats": numbers.formats,
        "model": model.name,
        "languages": list(model.languages),
        "dim": model.dim,
    }
    for key, value in expected.items():
        _same(f"/api/collection in {key}", got[key], value)


def _check_search(server: _Server, collection: Collection, text: str) -> None:
    where = f"/api/search for {text!r}"
    answer = server.json("/api/search", q=text, k=RESULTS)
    expected = [asdict(report) | {"unknown": list(report.unknown)} for report in collection.report(text)]
    _same(where, answer["queries"], expected)
    _same_hits(where, answer["hits"], collection.search(text, k=2 * RESULTS))


def _check_picture(server: _Server, collection: Collection, hit: Hit) -> None:
    item = f"/api/items/{hit.id}"
    similar = server.json(f"{item}/similar", k=RESULTS)["hits"]
    _same_hits(f"{item}/similar", similar, collection.similar(hit.id, k=2 * RESULTS))
    if server.get(f"{item}/thumbnail") != collection.thumbnail(hit.id):
        raise CheckError(f"the server returns a thumbnail of {hit.path} that differs from the collection's")
    if server.get(f"{item}/picture") != Path(hit.path).read_bytes():
        raise CheckError(f"the server returns something other than the file {hit.path}")


def _check_page(server: _Server) -> int:
    """Return the number of files of the page; all of them must exist."""
    files = re.findall(r'(?:src|href)="(static/[^"]+)"', server.get("/").decode())
    if not any(name.endswith(".js") for name in files):
        raise CheckError("the server returns a page without its script at /")
    for name in files:
        server.get(f"/{name}")
    return len(files)


def _same(where: str, got: Any, expected: Any) -> None:
    if got != expected:
        raise CheckError(f"the server returns {_short(got)} at {where}; {_short(expected)} was expected")


def _same_hits(where: str, got: Sequence[Any], expected: Sequence[Hit]) -> None:
    """Compare results; pictures with nearly the same score may be swapped, also with later ones."""
    best = expected[:RESULTS]
    _same(f"{where} as ranks", [hit["rank"] for hit in got], [hit.rank for hit in best])
    scores = {hit.id: hit.score for hit in expected}
    for hit, expected_hit in zip(got, best, strict=True):
        score, expected_score = hit["score"], scores.get(hit["id"])
        if (
            expected_score is None
            or max(abs(score - expected_score), abs(score - expected_hit.score)) > TOLERANCE
        ):
            raise CheckError(
                f"the server returns {hit['path']} with score {score:.4f} as result {expected_hit.rank} at {where}; "
                f"{expected_hit.path} with {expected_hit.score:.4f} was expected"
            )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
