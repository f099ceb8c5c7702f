"""The API as a program uses it, over real sockets."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import Filter
from lingvis.serve import answers

from .conftest import Client


def test_search_answers_as_the_collection_does(client: Client, home: Path) -> None:
    answer = client.search("ein roter Hund am Strand", k=3, offset=1).json
    hits = Collection.open(home / "photos.lv").search("ein roter Hund am Strand", k=3, offset=1)
    assert answer["hits"] == [hit.to_json() for hit in hits]
    assert [hit["rank"] for hit in answer["hits"]] == [2, 3, 4]
    assert (answer["k"], answer["offset"]) == (3, 1) and answer["took_ms"] > 0
    assert answer["queries"] == [
        {
            "text": "ein roter Hund am Strand",
            "lang": "de",
            "detected": True,
            "unknown": [],
            "understood": True,
        }
    ]


def test_languages_and_several_texts(client: Client, home: Path) -> None:
    texts = ["a red dog on the beach", "das Haus"]
    answer = client.search([*texts, " "]).json
    assert [(query["lang"], query["detected"]) for query in answer["queries"]] == [("en", True), ("de", True)]
    expected = Collection.open(home / "photos.lv").search(texts)
    assert [hit["score"] for hit in answer["hits"]] == [round(hit.score, 6) for hit in expected]
    given = client.search(texts[0], lang="de").json
    understood = {"unknown": [], "understood": True}  # the model has no list of known words
    assert given["queries"] == [{"text": texts[0], "lang": "de", "detected": False, **understood}]
    assert "'fr'" in client.search("x", lang="fr").error and client.search("x", lang="fr").status == 422


def test_filters(client: Client, home: Path) -> None:
    assert [hit["format"] for hit in client.search("x", format="tiff").json["hits"]] == ["tiff"]
    inside = client.search("x", folder=str(home / "photos" / "noise")).json["hits"]
    assert len(inside) == 6 and all("/noise/" in hit["path"] for hit in inside)
    everything = client.search(
        "x", folder="", after="", before="", min_size="", max_size="", format="", lang=""
    )
    assert len(everything.json["hits"]) == 9
    small = client.search("x", max_size=100).json["hits"]
    assert [Path(hit["path"]).name for hit in small] == ["dot.png"]
    assert len(client.search("x", min_size=101).json["hits"]) == 8
    assert len(client.search("x", min_size="0.1 kB", max_size="2MB").json["hits"]) == 8
    assert [hit["format"] for hit in client.search("x", format="JPG").json["hits"]] == ["jpeg"]
    assert len(client.search("x", folder="noise").json["hits"]) == 6, "a relative name is that of any folder"
    unknown = client.search("x", format="xyz")
    assert (
        unknown.status == 422 and "choose one of: avi, avif, bmp, gif, heic, heif, jpeg, jpg" in unknown.error
    )
    day = everything.json["hits"][0]["date"][:10]
    assert len(client.search("x", after=day, before=day).json["hits"]) == 9, "a day is meant as a whole"
    assert client.search("x", before=f"{day}T00:00").json["hits"] == []


def test_captions(client: Client, home: Path) -> None:
    hits = client.search("das Haus", captions="true").json["hits"]
    assert [hit["note"] for hit in hits] == ["das Haus", "a red dog on the beach"]
    assert hits[0]["score"] == pytest.approx(1, abs=1e-3) and hits[0]["lang"] == "de"


def test_search_by_picture(client: Client, home: Path) -> None:
    file = home / "photos" / "noise" / "003.png"
    answer = client.upload(file.read_bytes(), {"k": 2})
    assert answer.json["hits"][0]["path"] == str(file) and answer.json["queries"] == []
    assert answer.json["hits"][0]["score"] == pytest.approx(1, abs=1e-3)
    fields = {"q": ["das Haus", "the house"], "weight": 0.3, "format": "png", "k": 4}
    both = client.upload(file.read_bytes(), fields).json
    expected = Collection.open(home / "photos.lv").search(
        ["das Haus", "the house"], image=file, weight=0.3, k=4, where=Filter(format="png")
    )
    assert [hit["path"] for hit in both["hits"]] == [hit.path for hit in expected]
    assert [hit["score"] for hit in both["hits"]] == pytest.approx([hit.score for hit in expected], abs=1e-4)
    assert [query["lang"] for query in both["queries"]] == ["de", "en"]


def test_similar(client: Client, home: Path) -> None:
    collection = Collection.open(home / "photos.lv")
    first = client.search("x").json["hits"][0]
    answer = client.get(f"/api/items/{first['id']}/similar", k=3, format="png").json
    expected = collection.similar(first["id"], k=3, where=Filter(format="png"))
    assert answer["hits"] == [hit.to_json() for hit in expected]
    assert first["id"] not in [hit["id"] for hit in answer["hits"]]
    assert client.get("/api/items/0123/similar").status == 404


def test_item_thumbnail_and_picture(client: Client, home: Path) -> None:
    hits = {Path(hit["path"]).name: hit for hit in client.search("x").json["hits"]}
    png = hits["000.png"]
    item = client.get(f"/api/items/{png['id']}").json
    assert item == {key: value for key, value in png.items() if key not in ("rank", "score", "confidence")}

    small = client.get(f"/api/items/{png['id']}/thumbnail")
    assert small.headers["content-type"] == "image/jpeg"
    assert small.headers["cache-control"] == "private, no-cache", "the id stays when the picture is replaced"
    kept = client.get(f"/api/items/{png['id']}/thumbnail", v=png["hash"])
    assert kept.body == small.body and kept.headers["cache-control"] == "private, max-age=86400"
    assert small.body == Collection.open(home / "photos.lv").thumbnail(png["id"])
    again = client.get(f"/api/items/{png['id']}/thumbnail", {"If-None-Match": small.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    other = client.get(
        f"/api/items/{hits['001.png']['id']}/thumbnail", {"If-None-Match": small.headers["etag"]}
    )
    assert other.status == 200

    picture = client.get(f"/api/items/{png['id']}/picture")
    assert picture.body == (home / "photos" / "noise" / "000.png").read_bytes()
    assert picture.headers["content-type"] == "image/png"
    assert (
        client.get(f"/api/items/{png['id']}/picture", {"If-None-Match": picture.headers["etag"]}).status
        == 304
    )
    tiff = client.get(f"/api/items/{hits['090.tiff']['id']}/picture")
    assert tiff.headers["content-type"] == "image/jpeg"
    with Image.open(io.BytesIO(tiff.body)) as image:
        assert (image.format, image.size) == ("JPEG", (48, 32))
    for tail in ("", "/thumbnail", "/picture"):
        assert client.get(f"/api/items/nothing{tail}").status == 404


def test_numbers_of_the_collection(client: Client, home: Path) -> None:
    answer = client.get("/api/collection").json
    files = [path for path in (home / "photos").rglob("*") if path.suffix in (".png", ".tiff", ".jpg")]
    assert (answer["pictures"], answer["notes"]) == (9, 2)
    assert answer["bytes"] == sum(path.stat().st_size for path in files)
    assert answer["formats"] == {"jpeg": 1, "png": 7, "tiff": 1}
    assert (answer["model"], answer["languages"], answer["dim"]) == ("model", ["en", "de"], 64)
    assert answer["limits"]["k"] == 200 and answer["limits"]["upload_bytes"] == 20_000_000


def test_metrics_count_what_was_answered(client: Client) -> None:
    def value(name: str) -> float:
        lines = client.get("/metrics").body.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    good, bad = (f'lingvis_requests_total{{route="/api/search",status="{status}"}}' for status in (200, 422))
    before = value(good), value(bad), value("lingvis_search_seconds_count")
    client.search("x")
    client.search("x", k=0)
    client.get("/api/items/abc123")
    assert (value(good), value(bad), value("lingvis_search_seconds_count")) == (
        before[0] + 1,
        before[1] + 1,
        before[2] + 1,
    )
    text = client.get("/metrics").body.decode()
    assert "lingvis_pictures 9.0" in text and 'lingvis_request_seconds_bucket{le="0.05"' in text
    assert "abc123" not in text and 'route="/api/items/{id}"' in text


def test_page_and_document(client: Client) -> None:
    page = client.get("/")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    script = client.get("/static/app.js")
    assert script.status == 200 and script.headers["content-type"].startswith("text/javascript")
    document = client.get("/openapi.json").json
    assert set(document["paths"]) == {
        "/api/search",
        "/api/items/{id}",
        "/api/items/{id}/similar",
        "/api/items/{id}/thumbnail",
        "/api/items/{id}/picture",
        "/api/items/{id}/video",
        "/api/items/{id}/albums",
        "/api/albums",
        "/api/albums/hashes",
        "/api/albums/pictures",
        "/api/downloads",
        "/api/downloads/{id}",
        "/api/collections",
        "/api/browse",
        "/api/timeline",
        "/api/folders",
        "/api/places",
        "/api/examples",
        "/api/health",
        "/api/collection",
        "/api/session",
        "/metrics",
    }
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            assert described["summary"] and described["description"], (method, path)
    assert set(document["components"]["schemas"]) > {
        "SearchAnswer",
        "HitAnswer",
        "CollectionAnswer",
        "ErrorAnswer",
    }
    form = document["paths"]["/api/search"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert {"image", "q", "weight", "k", "folder"} <= set(form["properties"])
    assert client.get("/docs").status == 404


def test_answers_are_what_the_document_says(client: Client) -> None:
    found = client.search("x").json
    assert answers.SearchAnswer.model_validate(found).model_dump() == found
    numbers = client.get("/api/collection").json
    assert answers.CollectionAnswer.model_validate(numbers).model_dump() == numbers
    assert client.get("/api/health").json == {"status": "ok", "version": "0.1.0"}


def test_addresses_and_methods_that_do_not_exist_get_a_sentence(client: Client) -> None:
    missing = client.get("/api/nothing")
    assert (missing.status, missing.error) == (
        404,
        "there is nothing at this address; /openapi.json lists all addresses",
    )
    wrong = client.ask("DELETE", "/api/search")
    assert (wrong.status, wrong.error) == (
        405,
        "this address does not allow this method; /openapi.json lists the allowed ones",
    )
    unknown = client.get("/api/items/none")
    assert (unknown.status, unknown.error) == (
        404,
        "the collection has no such picture; take the id from a search",
    )
