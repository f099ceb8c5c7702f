"""Which files leave the server: those that were indexed, as long as they still are what they were."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

from lingvis.collection.collection import Collection
from lingvis.collection.stores.records import PictureInfo
from lingvis.features.decoding.pool import DecoderPool
from lingvis.serve.files import SIDE, as_jpeg, open_file
from lingvis.serve.settings import ServerSettings

from ..collection.indexing import index_folders
from .conftest import Client, in_thread

SECRET = "root:x:0:0"


def entry_of(path: Path, format: str) -> PictureInfo:
    return PictureInfo("x", str(path), "", 1, 1, 1, 1, format, datetime(2024, 5, 1))


@pytest.fixture
def swapped(client: Client, home: Path) -> Iterator[tuple[Path, str]]:
    """An indexed picture that a test may replace, and the address of its file."""
    path = home / "photos" / "noise" / "005.png"
    hits = client.search("x", k=20).json["hits"]
    (hit,) = [hit for hit in hits if hit["path"] == str(path)]
    kept = path.read_bytes()
    yield path, f"/api/items/{hit['id']}/picture"
    path.unlink(missing_ok=True)
    path.write_bytes(kept)


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


def test_a_folder_replaced_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        Image.new("RGB", (4, 4)).save(tmp_path / folder / "x.png")
    entry = entry_of((tmp_path / "a" / "x.png").resolve(), "png")
    found = open_file(entry)
    assert found is not None
    found.file.close()
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    assert open_file(entry) is None
    assert open_file(replace(entry, path=entry.path + "\0")) is None


def test_a_changed_picture_of_the_same_format_is_served_anew(
    client: Client, swapped: tuple[Path, str]
) -> None:
    path, address = swapped
    before = client.get(address)
    Image.new("RGB", (7, 5), "blue").save(path)
    after = client.get(address, {"If-None-Match": before.headers["etag"]})
    assert after.status == 200 and after.body == path.read_bytes()


@pytest.fixture(scope="module")
def decoders() -> Iterator[DecoderPool]:
    with DecoderPool() as pool:
        yield pool


def test_conversion_is_upright_and_bounded(tmp_path: Path, decoders: DecoderPool) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.new("RGB", (9000, 30), "red").save(tmp_path / "a.tiff", exif=exif)
    picture = open_file(entry_of((tmp_path / "a.tiff").resolve(), "tiff"))
    assert picture is not None
    with Image.open(io.BytesIO(as_jpeg(picture, decoders) or b"")) as image:
        assert image.format == "JPEG" and image.size[1] == SIDE and image.size[0] < 30
    Image.new("I;16", (20, 10), 40_000).save(tmp_path / "b.tiff")
    deep = open_file(entry_of((tmp_path / "b.tiff").resolve(), "tiff"))
    assert deep is not None
    with Image.open(io.BytesIO(as_jpeg(deep, decoders) or b"")) as image:
        assert image.convert("L").getpixel((5, 5)) == pytest.approx(40_000 >> 8, abs=2)


def test_a_damaged_file_is_not_converted(tmp_path: Path, decoders: DecoderPool) -> None:
    Image.effect_noise((300, 300), 50).save(tmp_path / "a.tiff", compression="tiff_lzw")
    whole = (tmp_path / "a.tiff").read_bytes()
    (tmp_path / "a.tiff").write_bytes(whole[:8] + bytes(len(whole) // 2) + whole[8 + len(whole) // 2 :])
    picture = open_file(entry_of((tmp_path / "a.tiff").resolve(), "tiff"))
    assert picture is None or as_jpeg(picture, decoders) is None


def test_a_file_with_several_jpeg_pictures_is_served(home: Path, tmp_path: Path) -> None:
    photos = (tmp_path / "photos").resolve()
    photos.mkdir()
    first, second = Image.new("RGB", (40, 30), "red"), Image.new("RGB", (40, 30), "blue")
    first.save(photos / "phone.jpg", "MPO", save_all=True, append_images=[second])
    index_folders(tmp_path / "photos.lv", [photos], model=home / "model", device="cpu")
    with Image.open(photos / "phone.jpg") as image:
        assert image.format == "MPO"
    with in_thread(Collection.open(tmp_path / "photos.lv", device="cpu"), ServerSettings()) as client:
        (hit,) = client.search("x", format="jpeg").json["hits"]
        picture = client.get(f"/api/items/{hit['id']}/picture")
    assert picture.status == 200 and picture.headers["content-type"] == "image/jpeg"
    assert picture.body == (photos / "phone.jpg").read_bytes()
