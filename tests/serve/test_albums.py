"""Albums and downloads over HTTP: who may change them, what is refused, and what an archive contains."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.serve.downloads.names import UniqueNames
from lingvis.serve.settings import ServerSettings

from ..collection.conftest import make_pictures
from .conftest import Answer, Client, in_thread, serving

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def place(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection to write to: five pictures, two of them with one name, and a TIFF."""
    folder = tmp_path_factory.mktemp("albums").resolve()
    make_pictures(folder / "photos" / "a", 2)
    make_pictures(folder / "photos" / "b", 1, first=7)
    (folder / "photos" / "b" / "007.png").rename(folder / "photos" / "b" / "000.PNG")
    make_pictures(folder / "photos", 1, first=8, suffix="tiff")
    make_pictures(folder / "photos", 1, first=9, suffix="jpg")
    Collection.create(folder / "photos.lv", home / "model", device="cpu").add([folder / "photos"])
    return folder


@pytest.fixture(scope="module")
def writer(place: Path) -> Iterator[Client]:
    with in_thread(Collection.open(place / "photos.lv", device="cpu"), ServerSettings()) as client:
        yield client


@pytest.fixture
def hits(writer: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = writer.search("the house", lang="en", k=20).json["hits"]
    return found


def send(client: Client, method: str, path: str, body: Any, **headers: str) -> Answer:
    return client.ask(method, path, json.dumps(body), {**JSON, **headers})


def counts(client: Client) -> dict[str, int]:
    return {album["name"]: album["pictures"] for album in client.get("/api/albums").json["albums"]}


def test_albums_are_changed_and_filter_searches(writer: Client, hits: list[dict[str, Any]]) -> None:
    ids = [hit["id"] for hit in hits]
    assert counts(writer) == {"favourites": 0} and writer.get("/api/albums").json["writable"] is True
    made = send(writer, "POST", "/api/albums", {"album": "Rome / Ostia & more", "add": ids[:3]})
    assert made.json == {"album": "Rome / Ostia & more", "added": 3, "removed": 0}
    changed = send(
        writer, "POST", "/api/albums", {"album": "Rome / Ostia & more", "add": ids[1:4], "remove": ids[:1]}
    )
    assert changed.json == {"album": "Rome / Ostia & more", "added": 1, "removed": 1}
    send(writer, "POST", "/api/albums", {"album": "favourites", "add": ids[4:5]})
    assert counts(writer) == {"favourites": 1, "Rome / Ostia & more": 3}
    stored = writer.get("/api/albums/hashes", album="Rome / Ostia & more").json["hashes"]
    assert stored == [hit["hash"] for hit in hits[1:4]]
    listed = writer.get("/api/albums/pictures", album="Rome / Ostia & more", k=2).json
    assert [item["id"] for item in listed["items"]] == [ids[3], ids[2]], "the last added first"
    assert writer.get(f"/api/items/{ids[4]}/albums").json == {"albums": ["favourites"]}
    within = writer.search("the house", lang="en", k=20, album="Rome / Ostia & more").json["hits"]
    assert [hit["id"] for hit in within] == ids[1:4]
    similar = writer.get(f"/api/items/{ids[0]}/similar", album="favourites").json["hits"]
    assert [hit["id"] for hit in similar] == ids[4:5]
    renamed = send(writer, "PATCH", "/api/albums", {"album": "Rome / Ostia & more", "name": "Roma"})
    assert [album["name"] for album in renamed.json["albums"]] == ["favourites", "Roma"]
    assert writer.ask("DELETE", "/api/albums?album=Roma").status == 200
    assert counts(writer) == {"favourites": 1}
    assert "there is no album 'Roma'" in writer.search("the house", lang="en", album="Roma").error


def test_wrong_changes_are_refused_in_one_sentence(writer: Client, hits: list[dict[str, Any]]) -> None:
    own = hits[0]["id"]
    for body, status, sentence in (
        ({"album": "Rome", "add": ["nothing"]}, 404, "no such picture"),
        ({"album": " ", "add": [own]}, 422, "an album needs a name"),
        ({"album": "a\nb", "add": [own]}, 422, "an album needs a name"),
        ({"album": "nothing", "remove": [own]}, 422, "there is no album 'nothing'"),
        ({"add": [own]}, 422, "parameter album"),
        ({"album": "Rome", "ids": [own]}, 422, "unknown parameter 'ids'"),
        ({"album": "Rome", "add": [own] * 2001}, 422, "parameter add"),
        ([], 422, "request"),
    ):
        answer = send(writer, "POST", "/api/albums", body)
        assert answer.status == status and sentence in answer.error, body
    assert send(writer, "PATCH", "/api/albums", {"album": "favourites", "name": "x"}).status == 422
    assert writer.ask("DELETE", "/api/albums?album=nothing").status == 422
    assert "Rome" not in counts(writer)
    big = {"album": "Rome", "add": ["x" * 64] * 2000, "remove": ["y" * 600_000]}
    assert send(writer, "POST", "/api/albums", big).status in (413, 422)
    for text in ("{", "[" * 10_000, "\xff"):
        assert "is not JSON" in writer.ask("POST", "/api/albums", text.encode("latin-1"), JSON).error


def test_pages_of_other_sites_change_nothing(writer: Client, hits: list[dict[str, Any]]) -> None:
    body = {"album": "evil", "add": [hits[0]["id"]]}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
        assert send(writer, "POST", "/api/albums", body, **headers).status == 403
        assert writer.ask("DELETE", "/api/albums?album=favourites", headers=headers).status == 403
        assert send(writer, "POST", "/api/downloads", {"ids": body["add"]}, **headers).status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = writer.ask("POST", "/api/albums", json.dumps(body), {"Content-Type": kind})
        assert answer.status == 415 and "Content-Type: application/json" in answer.error
    assert "evil" not in counts(writer)


def test_a_read_only_server_shows_albums_and_changes_none(place: Path) -> None:
    collection = Collection.open(place / "photos.lv", device="cpu")
    with in_thread(collection, ServerSettings(writable=False)) as client:
        assert client.get("/api/albums").json["writable"] is False
        for answer in (
            send(client, "POST", "/api/albums", {"album": "favourites"}),
            send(client, "PATCH", "/api/albums", {"album": "a", "name": "b"}),
            client.ask("DELETE", "/api/albums?album=favourites"),
        ):
            assert answer.status == 403 and "this server is read-only" in answer.error


def test_everybody_may_look_but_not_change(place: Path) -> None:
    """An address that others can reach without a token is read-only; test_access has the same with a token."""
    arguments = [str(place / "photos.lv"), "--host", "0.0.0.0", "--no-auth"]
    with serving(*arguments, log=place / "log") as (port, _):
        assert Client(port, {}).get("/api/albums").json["writable"] is False
        assert send(Client(port, {}), "POST", "/api/albums", {"album": "favourites"}).status == 403


def archive(client: Client, body: dict[str, Any]) -> tuple[Answer, zipfile.ZipFile]:
    prepared = send(client, "POST", "/api/downloads", body)
    answer = client.get(f"/api/downloads/{prepared.json['id']}")
    return answer, zipfile.ZipFile(io.BytesIO(answer.body))


def test_a_download_holds_the_pictures_themselves(
    writer: Client, hits: list[dict[str, Any]], place: Path
) -> None:
    prepared = send(writer, "POST", "/api/downloads", {"ids": [hit["id"] for hit in hits]}).json
    assert prepared["pictures"] == 5 and prepared["bytes"] == sum(hit["size"] for hit in hits)
    answer, held = archive(writer, {"ids": [hit["id"] for hit in hits]})
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''pictures.zip"
    assert held.testzip() is None
    names = held.namelist()
    assert sorted(name.lower() for name in names) == [
        "000 (2).png",
        "000.png",
        "001.png",
        "008.jpg",
        "009.jpg",
    ]
    originals = {Path(hit["path"]).read_bytes() for hit in hits if not hit["path"].endswith("tiff")}
    assert {held.read(name) for name in names if name != "008.jpg"} == originals
    with Image.open(io.BytesIO(held.read("008.jpg"))) as converted:
        assert (converted.format, converted.size) == ("JPEG", (48, 32)), (
            "as the route of the picture sends it"
        )
    send(writer, "POST", "/api/albums", {"album": "Été: 1/2", "add": [hits[0]["id"]]})
    answer, held = archive(writer, {"album": "Été: 1/2"})
    assert "%C3%89t%C3%A9_%201_2.zip" in answer.headers["content-disposition"]
    assert len(held.namelist()) == 1
    gone = Path(hits[0]["path"])
    content = gone.read_bytes()
    gone.write_bytes(b"something else")
    try:
        _, held = archive(writer, {"ids": [hit["id"] for hit in hits[:2]]})
        assert len(held.namelist()) == 2
        assert held.read("missing.txt").decode() == f"{gone.name}: gone or changed\n"
    finally:
        gone.write_bytes(content)


def test_downloads_that_are_refused(
    writer: Client, hits: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for body, status, sentence in (
        ({}, 422, "there are no pictures to download"),
        ({"ids": ["nothing"]}, 404, "no such picture"),
        ({"album": "nothing"}, 422, "there is no album 'nothing'"),
    ):
        answer = send(writer, "POST", "/api/downloads", body)
        assert answer.status == status and sentence in answer.error, body
    assert "has expired" in writer.get("/api/downloads/nothing").error
    monkeypatch.setattr("lingvis.serve.routes.downloads.DOWNLOAD_BYTES", 1000)
    answer = send(writer, "POST", "/api/downloads", {"ids": [hit["id"] for hit in hits]})
    assert answer.status == 413 and answer.error.startswith(
        "5 pictures of 0 MB are too many for one download"
    )


def test_names_in_an_archive() -> None:
    names = UniqueNames()
    given = ["a.jpg", "A.JPG", "a.jpg", "../../etc/passwd", "CON.png", "x\u202egpj.exe", "a:b*c?.png", ".."]
    given.append("é" * 300 + ".jpeg")
    made = [names(name) for name in given]
    assert made[:8] == [
        "a.jpg",
        "A (2).JPG",
        "a (3).jpg",
        "_.._etc_passwd",
        "_CON.png",
        "x_gpj.exe",
        "a_b_c_.png",
        "picture",
    ]
    assert len(made[8]) == 120 and made[8].endswith(".jpeg")


def test_terms_to_leave_out_and_a_picture_of_the_collection(
    writer: Client, hits: list[dict[str, Any]]
) -> None:
    typed = writer.search("the house -dog", without="red", lang="en", k=20).json
    assert [(query["text"], query["lang"]) for query in typed["queries"]] == [("the house", "en")]
    assert typed["without"] == ["dog", "red"]
    given = writer.search("the house", without=["dog", "red"], lang="en", k=20).json
    assert given["hits"] == typed["hits"] and given["hits"] != hits
    assert "only something to leave out (dog)" in writer.search("-dog", lang="en").error
    assert "only something to leave out (dog)" in writer.get("/api/search", without="dog").error
    own = hits[0]["id"]
    like = writer.get("/api/search", like=own, k=20).json["hits"]
    assert [hit["id"] for hit in like] == [
        hit["id"] for hit in writer.get(f"/api/items/{own}/similar", k=20).json["hits"]
    ]
    words = writer.get("/api/search", like=own, q="the house", lang="en", weight=1, k=20).json["hits"]
    assert [hit["id"] for hit in words] == [hit["id"] for hit in hits[1:]]
    assert writer.get("/api/search", like="nothing").status == 404
    picture = Path(hits[0]["path"]).read_bytes()
    uploaded = writer.upload(picture, {"without": ["dog", "red"], "lang": "en"}).json
    assert uploaded["without"] == ["dog", "red"]
