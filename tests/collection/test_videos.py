"""Videos in collections: a row per moment, kept up to date with the file, and found by the second."""

from __future__ import annotations

import io
import json
import os
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lingvis.cli import main
from lingvis.collection.collection import Collection
from lingvis.collection.moments import clock, find_scenes, one_per_scene
from lingvis.collection.stores.open import create_store
from lingvis.collection.stores.records import Filter, Hit, Item, PictureInfo
from lingvis.collection.writer.items import picture_id
from lingvis.data.video.reader import open_video
from lingvis.data.video.sampling import Sampling, sample

from ..videos import write_shots, write_sound
from .conftest import make_pictures
from .indexing import index_folders
from .rows import HEADER

SECONDS = [0.0, 6.0, 12.0]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of three shots of six seconds."""
    return write_shots(tmp_path_factory.mktemp("film") / "film.mp4", [101, 102, 103], seconds=6)


@pytest.fixture
def folder(tmp_path: Path, film: Path) -> Path:
    """Three pictures and the video."""
    make_pictures(tmp_path / "photos", 3)
    shutil.copy(film, tmp_path / "photos" / "film.mp4")
    return (tmp_path / "photos").resolve()


@pytest.fixture(scope="module")
def frames(film: Path) -> list[Image.Image]:
    """The frames of its moments."""
    with film.open("rb") as file, open_video(file) as video:
        return [moment.image for moment in sample(video, Sampling())]


def rows(collection: Collection, path: Path) -> list[float | None]:
    ids = [row.id for row in collection.store.files() if row.path == str(path)]
    return sorted((info.second for info in collection.infos(ids)), key=lambda second: second or 0.0)


@pytest.mark.parametrize("engine", ["lance", pytest.param("postgres", marks=pytest.mark.slow)])
def test_a_video_is_found_by_its_moments(
    engine: str,
    folder: Path,
    frames: list[Image.Image],
    model: Path,
    collection: str,
    request: pytest.FixtureRequest,
) -> None:
    if engine == "postgres":
        collection = request.getfixturevalue("database")
    report = index_folders(collection, [folder], model=model)
    assert (report.added, report.pictures, report.moments, report.broken) == (4, 4, 6, {})
    opened = Collection.open(collection)
    film = folder / "film.mp4"
    for shown, second in zip(frames, SECONDS, strict=True):
        best = opened.search(image=shown, k=6)[0]
        assert (best.path, best.info.second) == (str(film), second)
        assert best.info.duration == pytest.approx(18.0, abs=0.1) and best.info.format == "mp4"
        assert best.to_json()["second"] == second
        small = opened.thumbnail(best.id)
        assert small is not None and Image.open(io.BytesIO(small)).size == shown.size
    assert {hit.info.second for hit in opened.search(image=frames[0], k=6)} == {None, *SECONDS}
    assert [hit.info.second for hit in opened.search(image=frames[0], where=Filter(format="mp4"))] != []
    # A video counts once wherever pictures are counted.
    assert len(opened) == 4 and sum(info.second == 0.0 for info in opened.browse()) == 1
    assert [info.second for info in opened.browse(where=Filter(format="m4v"))] == [0.0]
    assert sum(month.pictures for month in opened.timeline()) == 4
    assert [(count.folder, count.pictures) for count in opened.folders()] == [(str(folder), 4)]
    numbers = opened.statistics()
    assert (numbers.pictures, numbers.videos, numbers.moments) == (4, 1, 3)
    assert numbers.bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert numbers.formats == {"mp4": 1, "png": 3}
    # Albums hold contents, so that any moment stands for its video.
    last = opened.search(image=frames[2], k=1)[0]
    assert opened.albums.add("films", [last.id]) == 1 and opened.albums.add("films", [film]) == 0
    assert [info.second for info in opened.albums.pictures("films")] == [0.0]
    assert {hit.info.second for hit in opened.search(image=frames[0], where=Filter(album="films"))} == {
        *SECONDS
    }
    assert opened.remove([last.id]) == 1 and len(opened) == 3
    assert not any(row.path == str(film) for row in opened.store.files())


def test_a_collection_follows_its_videos(folder: Path, model: Path, collection: str, tmp_path: Path) -> None:
    film = folder / "film.mp4"
    index_folders(collection, [folder], model=model)
    opened = Collection.open(collection)
    again = opened.add([folder])
    assert (again.added, again.updated, again.unchanged) == (0, 0, 4)
    vectors = opened.store.vectors([picture_id(str(film), second) for second in SECONDS])
    assert len(vectors) == 3
    os.utime(film, (1, 1))
    touched = opened.add([folder])
    assert (touched.updated, touched.unchanged, rows(opened, film)) == (1, 3, SECONDS)
    moved = folder / "deeper" / "renamed.mp4"
    moved.parent.mkdir()
    film.rename(moved)
    renamed = opened.add([folder], prune=True)
    assert (renamed.added, renamed.pruned, renamed.moments) == (1, 1, 6)
    assert (rows(opened, film), rows(opened, moved)) == ([], SECONDS)
    same = opened.store.vectors([picture_id(str(moved), second) for second in SECONDS])
    for second in SECONDS:
        np.testing.assert_array_equal(
            same[picture_id(str(moved), second)], vectors[picture_id(str(film), second)]
        )
    write_shots(moved, [104, 105], seconds=2)
    changed = opened.add([folder])
    assert (changed.added, changed.updated, rows(opened, moved)) == (0, 1, [0.0, 2.0])
    moved.write_bytes(moved.read_bytes()[:500])
    broken = opened.add([folder])
    assert list(broken.broken) == [str(moved)] and rows(opened, moved) == []
    assert broken.broken[str(moved)].startswith("the file is not a video of a known format")


def test_half_replaced_rows_are_repaired(folder: Path, model: Path, collection: str) -> None:
    """A kill between the new rows of a video and the removal of its old ones."""
    film = folder / "film.mp4"
    index_folders(collection, [folder], model=model)
    opened = Collection.open(collection)
    (first,) = opened.store.items([picture_id(str(film))])
    stale = replace(
        first, info=replace(first.info, id=picture_id(str(film), 3.0), second=3.0, size=1, hash="0" * 64)
    )
    with opened.store.writing():
        opened.store.upsert([stale])
    assert rows(opened, film) == [0.0, 3.0, 6.0, 12.0]
    report = opened.add([folder])
    assert (report.updated, rows(opened, film)) == (1, SECONDS)


def test_a_caption_belongs_to_the_video(folder: Path, model: Path, collection: str) -> None:
    (folder / "film.txt").write_text("the house")
    index_folders(collection, [folder], model=model)
    opened = Collection.open(collection)
    assert [hit.info.second for hit in opened.search("the house", captions=True)] == [0.0]
    (folder / "film.txt").write_text("a red dog on the beach")
    assert opened.add([folder]).updated == 1
    (hit,) = opened.search("the house", captions=True)
    assert hit.info.caption == "a red dog on the beach" and rows(opened, folder / "film.mp4") == SECONDS
    assert opened.statistics().captions == 1


def test_broken_videos_are_reported(
    tmp_path: Path, model: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = (tmp_path / "photos").resolve()
    make_pictures(photos, 1)
    (photos / "empty.mp4").touch()
    (photos / "text.webm").write_text("no video")
    write_sound(photos / "sound.mp4")
    main(["index", collection, str(photos), "--model", str(model), "--device", "cpu", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["pictures"], report["moments"], report["skipped_types"]) == (1, 1, {})
    assert {Path(path).name: reason for path, reason in report["broken"].items()} == {
        "empty.mp4": "the file is empty",
        "text.webm": "the file is not a video of a known format; use MP4, MOV, WebM, MKV or AVI",
        "sound.mp4": "it has no video track; only its sound can be played",
    }


def test_the_terminal_names_the_second(
    folder: Path, frames: list[Image.Image], model: Path, collection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["index", collection, str(folder), "--model", str(model), "--device", "cpu"])
    assert f"{collection}: 4 pictures and videos with 6 moments; 4 added" in capsys.readouterr().out
    frames[2].save(folder.parent / "query.png")
    main(["search", collection, "--image", str(folder.parent / "query.png"), "-k", "1"])
    assert capsys.readouterr().out.endswith("film.mp4 @ 0:12\n")
    assert [clock(second) for second in (0.0, 59.9, 61.0, 3723.5)] == ["0:00", "0:59", "1:01", "1:02:03"]


def hit(rank: int, path: str, second: float | None) -> Hit:
    info = PictureInfo(f"{path}{second}", path, "h", 1, 1, 1, 1, "mp4", datetime(2024, 1, 1), second=second)
    return Hit(rank, 1 / rank, info)


def test_close_moments_are_one_hit() -> None:
    places = [
        ("a", 10.0),
        ("a", 12.0),
        ("p", None),
        ("b", 11.0),
        ("a", 15.0),
        ("a", 6.0),
        ("p", None),
        ("a", 0.0),
    ]
    hits = [hit(rank, *place) for rank, place in enumerate(places, start=1)]
    kept = [(each.path, each.info.second) for each in one_per_scene(hits)]
    assert kept == [("a", 10.0), ("p", None), ("b", 11.0), ("a", 15.0), ("p", None), ("a", 0.0)]
    like = one_per_scene(hits, hits[1].info)
    assert [(each.path, each.info.second) for each in like] == [
        ("p", None),
        ("b", 11.0),
        ("a", 6.0),
        ("p", None),
        ("a", 0.0),
    ]


def test_pages_of_moments_neither_overlap_nor_have_gaps() -> None:
    every = [hit(rank, f"v{rank % 3}", float(rank // 3)) for rank in range(1, 200)]
    whole = one_per_scene(every)
    pages = [find_scenes(lambda count: every[:count], k=4, offset=offset) for offset in range(0, 60, 4)]
    found = [each for page in pages for each in page]
    assert [each.id for each in found] == [each.id for each in whole]
    assert [each.rank for each in found] == list(range(1, len(whole) + 1))


def test_an_old_table_gets_the_columns(tmp_path: Path) -> None:
    """Rows of earlier versions are pictures; Lance tables without the columns are read and then extended."""
    store = create_store(str(tmp_path / "c.lv"), HEADER, replace=False)
    info = PictureInfo("a", "/a.jpg", "h", 1, 1, 1, 1, "jpeg", datetime(2024, 1, 1))
    vector = np.ones(HEADER.dim, np.float32) / HEADER.dim**0.5
    with store.writing():
        store.upsert([Item(info, vector, b"x")])
    assert store.count() == store.count(once=True) == 1 and store.info("a") == info
