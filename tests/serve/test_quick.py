"""Quick ways: the same answers as FastAPI's, and thumbnails from memory that are never those of another content."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Filter
from lingvis.serve.engine import SearchEngine
from lingvis.serve.pictures import thumbnails as module
from lingvis.serve.pictures.thumbnails import FRESH, Thumbnail, Thumbnails
from lingvis.serve.routes import items, search
from lingvis.serve.settings import ServerSettings

from .conftest import Answer, Client, in_thread

SEARCHES = [
    "q=red",
    "q=red&q=blue&k=2&offset=1",
    "q=red&k=3&k=2",
    "q=red&format=&folder=",
    "q=ein+Hund%20am+Strand&prefer=de&prefer=en&lang=en",
    "q=&q=red&without=dog&captions=true",
    "q=red&captions=maybe",
    "q=red&k=0",
    "q=red&colour=blue",
    "k=5",
    "q=%FF",
    "",
]


def test_the_quick_way_answers_as_the_usual_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[Any]:
        collection = Collection.open(home / "photos.lv", device="cpu")
        with in_thread(collection, ServerSettings()) as client:
            hit = client.search("red", k=1).json["hits"][0]
            small = f"/api/items/{hit['id']}/thumbnail"
            tails = ("", f"?v={hit['hash']}", "?v=x", f"?v={'y' * 65}", "?w=1", "?v=", "?v=1&v=2")
            paths = [f"/api/search?{query}" for query in SEARCHES] + [small + tail for tail in tails]
            return [
                _without_time(client.ask("GET", path))
                for path in (*paths, f"/api/items/{'z' * 65}/thumbnail")
            ]

    quick = answers()
    monkeypatch.delattr(search.by_words, "quick")
    monkeypatch.delattr(items.thumbnail, "quick")
    usual = answers()
    assert quick == usual
    assert {status for status, *_ in quick} == {200, 400, 422}


def _without_time(answer: Answer) -> tuple[int, dict[str, str], Any]:
    headers = {
        name: value for name, value in answer.headers.items() if name not in ("date", "content-length")
    }
    if answer.headers["content-type"] != "application/json":
        return answer.status, headers, answer.body
    return answer.status, headers, {key: value for key, value in answer.json.items() if key != "took_ms"}


def test_only_a_thumbnail_of_this_content_is_kept(home: Path) -> None:
    engine = SearchEngine(Collection.open(home / "photos.lv", device="cpu"))
    info = engine.browse(1, 0, Filter())[0]
    small, certain = engine.thumbnail(info.id, info.hash)
    assert certain and small == Thumbnail.of(small.jpeg)
    assert [engine.thumbnail(info.id, hash) for hash in (None, "0" * 64)] == [(small, False)] * 2


def test_thumbnails_are_kept_for_a_short_time_and_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(module, "MOST_BYTES", 30)
    kept, small = Thumbnails(), Thumbnail.of(b"x" * 10)
    for name in "abc":
        kept.keep(name, "1", small)
    kept.keep("a", "1", small)  # again: it is now the last
    kept.keep("d", "1", small)
    assert [name for name in "abcd" if kept.find(name, "1")] == ["a", "c", "d"]
    assert kept.find("a", "2") is None
    now += FRESH
    assert kept.find("a", "1") is None


def test_an_etag_saves_the_bytes(client: Client) -> None:
    hit = client.search("red", k=1).json["hits"][0]
    path = f"/api/items/{hit['id']}/thumbnail"
    first, second = (
        client.get(path, v=hit["hash"]) for _ in range(2)
    )  # from the collection, then from memory
    assert first.body == second.body and first.headers["etag"] == second.headers["etag"]
    known = client.get(path, {"If-None-Match": first.headers["etag"]}, v=hit["hash"])
    assert known.status == 304 and known.body == b"" and "max-age=86400" in known.headers["cache-control"]
