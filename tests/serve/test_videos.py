"""Videos over HTTP: parts of files, under the rules of pictures."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.serve.pictures import files
from lingvis.serve.routes.ranges import UnsatisfiableRange, byte_range
from lingvis.serve.settings import ServerSettings

from ..collection.conftest import make_model, make_pictures
from ..collection.indexing import index_folders
from ..videos import SIZE, write_shots
from .conftest import Client, in_thread

MARK = '"m"'
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos: two pictures and film.webm of two shots; photos.lv."""
    place = tmp_path_factory.mktemp("films").resolve()
    make_model(place / "model")
    make_pictures(place / "photos", 2)
    write_shots(place / "photos" / "film.webm", [101, 102], seconds=6)
    index_folders(place / "photos.lv", [place / "photos"], model=place / "model", device="cpu")
    return place


@pytest.fixture(scope="module")
def films(place: Path) -> Iterator[Client]:
    with in_thread(Collection.open(place / "photos.lv", device="cpu"), ServerSettings()) as client:
        yield client


@pytest.fixture(scope="module")
def moment(films: Client) -> str:
    """The address of the second moment."""
    hits = films.search("x", format="webm").json["hits"]
    assert sorted(hit["second"] for hit in hits) == [0.0, 6.0] and {hit["width"] for hit in hits} == {SIZE[0]}
    return next(f"/api/items/{hit['id']}" for hit in hits if hit["second"] == 6.0)


def test_parts_of_a_video(films: Client, moment: str, place: Path) -> None:
    data = (place / "photos" / "film.webm").read_bytes()
    whole = films.get(f"{moment}/video")
    assert (whole.status, whole.body, whole.headers["content-type"]) == (200, data, "video/webm")
    assert (whole.headers["accept-ranges"], whole.headers["content-length"]) == ("bytes", str(len(data)))
    assert "film.webm" in whole.headers["content-disposition"]
    mark = whole.headers["etag"]
    for asked, start, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=100-", 100, len(data)),
        ("bytes=-50", len(data) - 50, len(data)),
        (f"bytes=10-{10 * len(data)}", 10, len(data)),
    ):
        part = films.get(f"{moment}/video", {"Range": asked, "If-Range": mark})
        assert (part.status, part.body) == (206, data[start:end])
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{len(data)}"
    assert films.get(f"{moment}/video", {"Range": "bytes=0-9", "If-Range": '"other"'}).status == 200
    beyond = films.get(f"{moment}/video", {"Range": f"bytes={len(data)}-"})
    assert beyond.status == 416 and beyond.headers["content-range"] == f"bytes */{len(data)}"
    assert beyond.error.startswith(f"the file has {len(data)} bytes")
    head = films.ask("HEAD", f"{moment}/video", headers={"Range": "bytes=0-9"})
    assert (head.status, head.body, head.headers["content-length"]) == (206, b"", "10")
    assert films.get(f"{moment}/video", {"If-None-Match": mark}).status == 304
    assert "media-src 'self'" in whole.headers["content-security-policy"]


def test_the_frame_is_the_picture_of_a_moment(films: Client, moment: str) -> None:
    small, large = films.get(f"{moment}/thumbnail"), films.get(f"{moment}/picture")
    assert small.body == large.body and Image.open(io.BytesIO(small.body)).size == SIZE


def test_only_videos_are_played_and_only_unchanged_ones(
    films: Client, moment: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = films.search("x", format="png").json["hits"][0]
    assert "this is a picture" in films.get(f"/api/items/{picture['id']}/video").error
    assert films.get("/api/items/unknown/video").status == 404
    path = place / "photos" / "film.webm"
    kept, status = path.read_bytes(), path.stat()
    try:
        path.write_bytes(b"x" * len(kept))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert "is gone or has changed" in films.get(f"{moment}/video").error  # only its hash differs
        monkeypatch.setattr(files, "HASHED_BYTES", 10)
        assert films.get(f"{moment}/video", {"Range": "bytes=0-1"}).body == b"xx"
        os.utime(path)
        assert films.get(f"{moment}/video").status == 404
        path.unlink()
        path.symlink_to(place / "photos" / "000.png")
        assert films.get(f"{moment}/video").status == 404
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(kept)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_video_is_one_entry_everywhere(films: Client, place: Path) -> None:
    listed = films.get("/api/browse", k=10).json["items"]
    assert [item["second"] for item in listed if item["format"] == "webm"] == [0.0] and len(listed) == 3
    assert films.get("/api/collection").json["pictures"] == 3
    ids = [hit["id"] for hit in films.search("x", format="webm").json["hits"]]
    assert len(ids) == 2
    made = films.ask("POST", "/api/downloads", json.dumps({"ids": ids}), JSON).json
    archive = zipfile.ZipFile(io.BytesIO(films.get(f"/api/downloads/{made['id']}").body))
    assert (made["pictures"], archive.namelist()) == (1, ["film.webm"])
    assert archive.read("film.webm") == (place / "photos" / "film.webm").read_bytes()


def test_a_token_protects_videos(place: Path, moment: str) -> None:
    settings = ServerSettings(token="secret")
    with in_thread(Collection.open(place / "photos.lv", device="cpu"), settings) as client:
        assert client.get(f"{moment}/video", {"Range": "bytes=0-1"}).status == 401
        assert client.ask("HEAD", f"{moment}/video").status == 401
        allowed = client.get(f"{moment}/video", {"Range": "bytes=0-1", "Authorization": "Bearer secret"})
        assert (allowed.status, len(allowed.body)) == (206, 2)


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("", None),
        ("bytes=-", None),
        ("bytes=5-2", None),
        ("bytes=0-1,4-5", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=" + "9" * 40 + "-", None),
        ("bytes=0-0", (0, 1)),
        (" bytes = 2 - 3 ", (2, 4)),
        ("bytes=-99", (0, 10)),
        ("bytes=9-", (9, 10)),
    ],
)
def test_ranges(header: str | None, part: tuple[int, int] | None) -> None:
    assert byte_range(header, None, size=10, mark=MARK) == part
    assert byte_range(header, MARK, size=10, mark=MARK) == part
    assert byte_range(header, '"other"', size=10, mark=MARK) is None


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=-0"])
def test_ranges_without_a_byte(header: str) -> None:
    with pytest.raises(UnsatisfiableRange):
        byte_range(header, None, size=10, mark=MARK)
