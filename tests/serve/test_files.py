"""Which files leave the server: those that were indexed, as long as they still are what they were."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import perf_counter, sleep

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import PictureInfo
from lingvis.features.decoding.pool import DecoderPool
from lingvis.serve.pictures.files import SETTLED_NS, SIDE, OpenPicture, PictureFiles, as_jpeg
from lingvis.serve.settings import ServerSettings

from ..collection.indexing import index_folders
from .conftest import Client, in_thread

SECRET = "root:x:0:0"
FILM = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\xff\xd9 film" * 1000


def info_of(path: Path, format: str) -> PictureInfo:
    """The row of a file as it is now."""
    status, hash = path.stat(), hashlib.sha256(path.read_bytes()).hexdigest()
    return PictureInfo(
        "x", str(path), hash, status.st_size, status.st_mtime_ns, 1, 1, format, datetime(2024, 5, 1)
    )


def opened(path: Path, format: str) -> OpenPicture:
    picture = PictureFiles().open(info_of(path.resolve(), format))
    assert picture is not None
    return picture


@pytest.fixture
def swapped(client: Client, home: Path) -> Iterator[tuple[Path, str]]:
    """An indexed picture that a test may replace, and the address of its file."""
    path = home / "photos" / "noise" / "005.png"
    hits = client.search("x", k=20).json["hits"]
    (hit,) = [hit for hit in hits if hit["path"] == str(path)]
    kept, time_ns = path.read_bytes(), path.stat().st_mtime_ns
    yield path, f"/api/items/{hit['id']}/picture"
    path.unlink(missing_ok=True)
    path.write_bytes(kept)
    os.utime(path, ns=(time_ns, time_ns))


@pytest.mark.parametrize("kind", ["gone", "link", "text", "format", "pipe", "folder", "svg"])
def test_what_took_the_place_of_a_picture_is_not_served(
    client: Client, home: Path, swapped: tuple[Path, str], kind: str
) -> None:
    path, address = swapped
    assert client.get(address).status == 200
    (home / "secret.png").write_bytes((home / "photos" / "noise" / "000.png").read_bytes())
    path.unlink()
    if kind == "link":
        path.symlink_to(home / "secret.png")
    elif kind == "text":
        path.write_text(SECRET)
    elif kind == "svg":
        path.write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    elif kind == "format":
        Image.new("RGB", (4, 4)).save(path, "GIF")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    answer = client.get(address)
    assert answer.status == 404 and "gone or has changed" in answer.error
    assert SECRET.encode() not in answer.body
    if kind == "folder":
        path.rmdir()


@pytest.mark.parametrize("kind", ["in place", "renamed", "hard link", "longer", "touched"])
def test_another_picture_of_the_same_format_is_not_served_until_it_is_indexed(
    client: Client, home: Path, swapped: tuple[Path, str], kind: str
) -> None:
    path, address = swapped
    before, content, times = client.get(address), path.read_bytes(), path.stat()
    assert before.status == 200
    other = content[:-20] + bytes(20) if kind != "longer" else content + b"PK secret"
    if kind == "in place":  # same inode, size and time: only the time of the change of the inode differs
        path.write_bytes(other)
    elif kind != "touched":
        (home / "secret.png").write_bytes(other)
        path.unlink()
        if kind == "hard link":
            os.link(home / "secret.png", path)
        else:
            (home / "secret.png").rename(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + (kind == "touched")))
    for _ in range(2):
        after = client.get(address, {"If-None-Match": before.headers["etag"]})
        assert after.status == 404 and "gone or has changed" in after.error


def test_a_file_that_was_copied_back_is_served(client: Client, swapped: tuple[Path, str]) -> None:
    path, address = swapped
    before, content, times = client.get(address), path.read_bytes(), path.stat()
    path.unlink()
    path.write_bytes(content)  # another inode
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert client.get(address).body == before.body == content
    assert client.get(address, {"If-None-Match": before.headers["etag"]}).status == 304


def test_a_file_that_changes_while_it_is_sent_is_cut_off(home: Path, tmp_path: Path) -> None:
    photos = (tmp_path / "photos").resolve()
    photos.mkdir()
    Image.effect_noise((3000, 3000), 90).save(
        photos / "large.bmp"
    )  # 9 MB: more than the buffers of a connection
    index_folders(tmp_path / "photos.lv", [photos], model=home / "model", device="cpu")
    content = (photos / "large.bmp").read_bytes()
    with in_thread(Collection.open(tmp_path / "photos.lv", device="cpu"), ServerSettings()) as client:
        (hit,) = client.search("x").json["hits"]
        assert client.get(f"/api/items/{hit['id']}/picture").body == content
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
        connection.request("GET", f"/api/items/{hit['id']}/picture")
        answer = connection.getresponse()
        assert answer.read(1000) == content[:1000]
        with (photos / "large.bmp").open("r+b") as file:
            file.seek(2_000_000)
            file.write(b"SECRET" * 1_000_000)
        with pytest.raises(http.client.IncompleteRead) as error:
            answer.read()
        assert b"SECRETSECRET" not in error.value.partial
        connection.close()


def test_contents_are_read_once_and_again_after_a_change(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "a.bmp"
    Image.new("RGB", (6000, 3000)).save(path)  # 54 MB
    files, info = PictureFiles(), info_of(path, "bmp")

    def view() -> float:
        start = perf_counter()
        picture = files.open(info)
        seconds = perf_counter() - start
        assert picture is not None and picture.size == info.size
        picture.file.close()
        return seconds

    sleep(SETTLED_NS / 10**9 + 0.1)  # a file that has just changed is read each time
    first, later = view(), min(view() for _ in range(5))
    assert later < first / 10
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"other")
    os.utime(path, ns=(info.mtime_ns, info.mtime_ns))
    assert files.open(info) is None


def test_a_folder_replaced_by_a_link(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    (tmp_path / "a").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "a" / "x.png")
    files, info = PictureFiles(), info_of(tmp_path / "a" / "x.png", "png")
    picture = files.open(info)
    assert picture is not None
    picture.file.close()
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").symlink_to(tmp_path / "b")  # even to the same file
    assert files.open(info) is None
    assert files.open(replace(info, path=info.path + "\0")) is None


@pytest.fixture(scope="module")
def decoders() -> Iterator[DecoderPool]:
    with DecoderPool() as pool:
        yield pool


def test_conversion_is_upright_and_bounded(tmp_path: Path, decoders: DecoderPool) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.new("RGB", (9000, 30), "red").save(tmp_path / "a.tiff", exif=exif)
    with Image.open(io.BytesIO(as_jpeg(opened(tmp_path / "a.tiff", "tiff"), decoders) or b"")) as image:
        assert image.format == "JPEG" and image.size[1] == SIDE and image.size[0] < 30
    Image.new("I;16", (20, 10), 40_000).save(tmp_path / "b.tiff")
    with Image.open(io.BytesIO(as_jpeg(opened(tmp_path / "b.tiff", "tiff"), decoders) or b"")) as image:
        assert image.convert("L").getpixel((5, 5)) == pytest.approx(40_000 >> 8, abs=2)


def test_a_damaged_file_is_not_converted(tmp_path: Path, decoders: DecoderPool) -> None:
    path = tmp_path.resolve() / "a.tiff"
    Image.effect_noise((300, 300), 50).save(path, compression="tiff_lzw")
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + bytes(len(whole) // 2) + whole[8 + len(whole) // 2 :])
    picture = PictureFiles().open(info_of(path, "tiff"))
    assert picture is None or as_jpeg(picture, decoders) is None


def test_only_the_picture_of_a_file_is_served(home: Path, tmp_path: Path) -> None:
    photos = (tmp_path / "photos").resolve()
    photos.mkdir()
    first, second = Image.new("RGB", (40, 30), "red"), Image.new("RGB", (40, 30), "blue")
    first.save(photos / "several.jpg", "MPO", save_all=True, append_images=[second])
    first.save(photos / "film.jpg", quality=75)
    film = (photos / "film.jpg").read_bytes()
    (photos / "film.jpg").write_bytes(film + FILM)
    first.save(photos / "archive.png")
    png = (photos / "archive.png").read_bytes()
    (photos / "archive.png").write_bytes(png + b"PK\x03\x04 an archive")
    first.save(photos / "odd.gif")
    (photos / "odd.gif").write_bytes((photos / "odd.gif").read_bytes()[:-1])  # without its end
    index_folders(tmp_path / "photos.lv", [photos], model=home / "model", device="cpu")
    with in_thread(Collection.open(tmp_path / "photos.lv", device="cpu"), ServerSettings()) as client:
        hits = client.search("x").json["hits"]
        served = {Path(hit["path"]).name: client.get(f"/api/items/{hit['id']}/picture") for hit in hits}
    assert {name: answer.headers["content-type"] for name, answer in served.items()} == {
        "several.jpg": "image/jpeg",
        "film.jpg": "image/jpeg",
        "archive.png": "image/png",
        "odd.gif": "image/jpeg",
    }
    assert served["film.jpg"].body == film and served["archive.png"].body == png
    several = (photos / "several.jpg").read_bytes()
    assert several.startswith(served["several.jpg"].body) and b"PK" not in served["archive.png"].body
    for answer in served.values():
        with Image.open(io.BytesIO(answer.body)) as image:
            assert image.size == (40, 30) and image.convert("RGB").getpixel((20, 15))[0] > 250  # type: ignore[index]
    assert len(served["several.jpg"].body) < len(several) - 300  # the second picture stays here


def test_the_content_decides_its_type_whatever_the_name(home: Path, tmp_path: Path) -> None:
    photos = (tmp_path / "photos").resolve()
    photos.mkdir()
    Image.new("RGB", (40, 30), "red").save(photos / "a.jpg", "PNG")
    index_folders(tmp_path / "photos.lv", [photos], model=home / "model", device="cpu")
    with in_thread(Collection.open(tmp_path / "photos.lv", device="cpu"), ServerSettings()) as client:
        (hit,) = client.search("x").json["hits"]
        answer = client.get(f"/api/items/{hit['id']}/picture")
    assert answer.headers["content-type"] == "image/png" and answer.body == (photos / "a.jpg").read_bytes()
