"""Folders that anybody may have filled: odd files are told, start no program and never stop the others."""

from __future__ import annotations

import io
import os
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import EpsImagePlugin, Image

import lingvis
from lingvis.collection.stores.sqlite.store import SqliteStore
from lingvis.collection.writer.found import ScannedFile
from lingvis.collection.writer.pictures import UnreadPicture, read_picture
from lingvis.collection.writer.plan import IndexPlan, make_plan
from lingvis.collection.writer.scan import CAPTION_LINK
from lingvis.data.images import UNKNOWN_FORMAT, read_real_file
from lingvis.data.picture_limits import FILE_BYTES
from lingvis.features.decoding.content import decode_content
from lingvis.features.pictures import BrokenPicture, decode
from lingvis.features.preprocessing import Preprocessing
from lingvis.files import BEHIND_LINK

from .conftest import make_pictures
from .indexing import index_folders, make_indexer

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"
SQUARE = Preprocessing(size=32, mean=(0.5,) * 3, std=(0.5,) * 3)
FAR = 10_413_792_000  # 2300-01-01, in seconds
LATEST = datetime.fromtimestamp((2**63 - 1) // 10**9)


def found(path: Path) -> ScannedFile:
    status = path.stat()
    return ScannedFile(str(path), status.st_size, status.st_mtime_ns)


def test_odd_files_are_told_and_the_others_go_on(model: Path, photos: Path, collection: str) -> None:
    os.mkfifo(photos / "pipe.jpg")
    os.mkfifo(photos / "000.txt")  # captions
    (photos / "001.txt").symlink_to("/dev/zero")
    (photos / "002.txt").write_text("a red dog " * 1_000_000)
    (photos / "zero.png").symlink_to("/dev/zero")
    (photos / "loop.jpg").symlink_to(photos / "loop.jpg")
    (photos / "program.jpg").write_bytes(EPS)
    Image.new("RGB", (8, 8)).save(photos / "other.jpg", "PPM")
    with open(photos / "endless.tif", "wb") as file:
        file.truncate(FILE_BYTES + 1)
    os.utime(photos / "003.png", (FAR, FAR))
    os.utime(photos / "004.png", (-(10**9), -(10**9)))
    report = index_folders(collection, [photos], model=model, batch_size=3)
    assert report.added == report.pictures == 5
    assert report.unreadable == {
        str(photos / "pipe.jpg"): "it is not a regular file",
        str(photos / "001.txt"): CAPTION_LINK,
        str(photos / "loop.jpg"): "Too many levels of symbolic links",
    }
    assert report.skipped_links == [str(photos / "zero.png")]
    assert report.broken == {
        str(photos / "program.jpg"): UNKNOWN_FORMAT,
        str(photos / "other.jpg"): UNKNOWN_FORMAT,
        str(photos / "endless.tif"): f"the file has {FILE_BYTES + 1} bytes; at most {FILE_BYTES} are read",
    }
    store = SqliteStore(Path(collection))
    rows = {Path(row.path).name: store.info(row.id) for row in store.files()}
    assert [rows[f"00{n}.png"].caption for n in range(2)] == [None, None]  # type: ignore[union-attr]
    assert rows["002.png"].caption == ("a red dog " * 200)[:2000]  # type: ignore[union-attr]
    assert rows["003.png"].date == LATEST  # type: ignore[union-attr]
    assert rows["004.png"].date.year == 1938  # type: ignore[union-attr]
    assert index_folders(collection, [photos], prune=True).unchanged == 5  # later times are compared, too


def test_no_picture_starts_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker, program = tmp_path / "started", tmp_path / "gs"
    program.write_text(f"#!/bin/sh\necho >> {marker}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    file = tmp_path / "dog.jpg"
    file.write_bytes(EPS)
    assert isinstance(read_picture(found(file), SQUARE, lambda _: False, decode_content), BrokenPicture)
    for source in (file, io.BytesIO(EPS)):
        with pytest.raises(BrokenPicture, match="not a picture of a known format"):
            decode(source, [], SQUARE, crops=False)
    assert not marker.exists()
    with Image.open(file) as image, pytest.raises(OSError):
        image.load()
    assert marker.exists()  # so Pillow by itself does start it


def test_only_regular_files_are_read_and_no_more_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    assert read_real_file(str(tmp_path / "a.txt"), 3) == b"123"
    assert read_real_file(str(tmp_path / "a.txt"), 9) == b"12345"
    for odd in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(OSError, match=r"it is (not a regular file|a folder)"):
            read_real_file(str(odd), 9)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_to_any_file_becomes_neither_a_caption_nor_a_picture(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "passwords").write_text("root the secret dog")
    (private,) = make_pictures(tmp_path / "home", 1, first=50)
    (photos / "000.txt").symlink_to(tmp_path / "home" / "passwords")
    (photos / "private.png").symlink_to(private)
    report = index_folders(collection, [photos], model=model)
    store = SqliteStore(Path(collection))
    assert report.pictures == 5 and report.skipped_links == [str(photos / "private.png")]
    assert str(private) not in {row.path for row in store.files()}
    assert all(row.caption is None for row in store.files())
    report = index_folders(collection, [photos], follow_links=True)
    assert report.added == 1 and not report.skipped_links
    # Without the flag a stored picture stays, even with prune: its file is outside the folders.
    report = index_folders(collection, [photos], prune=True)
    assert (report.pictures, report.pruned) == (6, 0)
    assert str(private) in {row.path for row in store.files()}


def test_a_caption_that_becomes_a_link_is_dropped(
    model: Path, photos: Path, collection: str, tmp_path: Path
) -> None:
    (tmp_path / "words").write_text("a red dog")
    (photos / "000.txt").write_text("a red dog")
    index_folders(collection, [photos], model=model)
    (photos / "000.txt").unlink()
    (photos / "000.txt").symlink_to(tmp_path / "words")
    assert index_folders(collection, [photos]).updated == 1
    assert all(row.caption is None for row in SqliteStore(Path(collection)).files())


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_what_becomes_a_link_between_the_scan_and_the_read_is_not_read(
    model: Path, photos: Path, collection: str, tmp_path: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (private,) = make_pictures(tmp_path / "home", 1, first=50)
    private.with_suffix(".txt").write_text("the secret dog")
    picture = make_pictures(photos / "deep", 1, first=50)[0]
    picture.with_suffix(".txt").write_text("a dog")

    def swap(*arguments: Any, **options: Any) -> IndexPlan:
        plan = make_plan(*arguments, **options)
        if swapped == "folder":
            (photos / "deep").rename(tmp_path / "away")
            (photos / "deep").symlink_to(tmp_path / "home")
        else:
            for suffix in (".png", ".txt"):
                picture.with_suffix(suffix).unlink()
                picture.with_suffix(suffix).symlink_to(private.with_suffix(suffix))
        return plan

    monkeypatch.setattr("lingvis.collection.writer.indexer.make_plan", swap)
    report = make_indexer(collection, model=model).run([photos])
    assert report.pictures == 5 and report.unreadable == {str(picture): BEHIND_LINK}
    for suffix in (".png", ".txt"):
        with pytest.raises(OSError, match=BEHIND_LINK):
            read_real_file(picture.with_suffix(suffix), 100)


def test_a_file_that_cannot_be_read_is_not_called_broken(tmp_path: Path) -> None:
    result = read_picture(
        ScannedFile(str(tmp_path / "gone.jpg"), 5, 5), SQUARE, lambda _: False, decode_content
    )
    assert isinstance(result, UnreadPicture) and str(result) == "No such file or directory"


def test_several_pictures_in_one_jpeg_count_as_the_first(
    model: Path, tmp_path: Path, collection: str
) -> None:
    (tmp_path / "photos").mkdir()
    red, blue = (Image.new("RGB", (40, 30), colour) for colour in ("red", "blue"))
    red.save(tmp_path / "photos" / "phone.jpg", "MPO", save_all=True, append_images=[blue])
    assert index_folders(collection, [tmp_path / "photos"], model=model).added == 1
    (hit,) = lingvis.Collection.open(collection).search(image=tmp_path / "photos" / "phone.jpg")
    assert hit.info.format == "jpeg" and hit.score > 0.99


def test_a_new_collection_is_private_and_an_old_one_keeps_its_mode(
    model: Path, photos: Path, collection: str
) -> None:
    before = os.umask(0o022)
    try:
        index_folders(collection, [photos], model=model)
        assert os.stat(collection).st_mode & 0o777 == 0o700
        os.chmod(collection, 0o750)  # shared with a group since
        index_folders(collection, [photos], model=model, rebuild=True)
        assert os.stat(collection).st_mode & 0o777 == 0o750
    finally:
        os.umask(before)
